package admission

import (
	v1 "github.com/tiergate/tiergate/api/v1"
)

// contradiction is a pair of ranks of which facts and probe say different things.
type contradiction struct {
	first, second int64
	// factsShare is true where the facts say that they share memory and the probe that they do not.
	factsShare bool
}

// apart finds two ranks that the facts keep apart. Groups that are all shared connect the whole grid, so that it
// contradicts these, also where none of them has both ranks.
func (m *members) apart() *contradiction {
	first := -1
	for i, domain := range m.domains {
		switch {
		case domain == unknownDomain:
		case first < 0:
			first = i
		case domain != m.domains[first]:
			return &contradiction{first: m.reports[first].Rank, second: m.reports[i].Rank}
		}
	}
	return nil
}

// contradict finds a member that is known to be in the memory of those who read the leader's nonce, and did not read it,
// or the other way round. Found are the outcomes in the order of ranks.
func (m *members) contradict(ranks []int64, found []string) *contradiction {
	witness := m.witness(ranks, found)
	if witness < 0 {
		return nil
	}
	home := m.domain(ranks[witness])
	for i, rank := range ranks[1:] {
		domain, outcome := m.domain(rank), found[i+1]
		switch {
		case domain == unknownDomain:
		case outcome == v1.Shared && domain != home:
			return &contradiction{first: ranks[witness], second: rank}
		case outcome == v1.NotShared && domain == home:
			return &contradiction{first: ranks[witness], second: rank, factsShare: true}
		}
	}
	return nil
}

// witness is the index of the leader, or else of the first that read its nonce, if the memory of one of these is known.
func (m *members) witness(ranks []int64, found []string) int {
	for i, rank := range ranks {
		if (i == 0 || found[i] == v1.Shared) && m.domain(rank) != unknownDomain {
			return i
		}
	}
	return -1
}
