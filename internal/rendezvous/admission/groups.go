package admission

import (
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// members are the ranks of an attempt with what is known of where they are and what they found.
type members struct {
	reports  []Ranked
	places   *places
	domains  []int64
	outcomes map[int64][]v1.RankProbe
}

func newMembers(reports []Ranked, outcomes map[int64][]v1.RankProbe) *members {
	return &members{reports: reports, places: findPlaces(reports), domains: Domains(reports), outcomes: outcomes}
}

// index is where a rank is in the reports, or below 0.
func (m *members) index(rank int64) int {
	if rank >= 0 && rank < int64(len(m.reports)) && m.reports[rank].Rank == rank {
		return int(rank)
	}
	at, found := slices.BinarySearchFunc(m.reports, rank, func(r Ranked, rank int64) int { return int(r.Rank - rank) })
	if !found {
		return -1
	}
	return at
}

func (m *members) report(rank int64) *v1.Report {
	if at := m.index(rank); at >= 0 {
		return m.reports[at].Report
	}
	return nil
}

func (m *members) domain(rank int64) int64 {
	if at := m.index(rank); at >= 0 {
		return m.domains[at]
	}
	return unknownDomain
}

func (m *members) node(rank int64) string {
	if at := m.index(rank); at >= 0 {
		return m.places.names[m.places.of[at]]
	}
	return noName
}

// outcome is what a rank found in one group. Whatever is not plainly shared is something else.
func (m *members) outcome(rank, leader int64, kind string) (outcome, reason string) {
	found := false
	for _, p := range m.outcomes[rank] {
		switch {
		case p.Kind != kind:
			continue
		case p.Leader != leader:
			return v1.Unknown, "an answer about another leader"
		case p.Outcome == v1.NotShared:
			return v1.NotShared, p.Reason
		case p.Outcome != v1.Shared:
			return v1.Unknown, p.Reason
		}
		found = true
	}
	if !found {
		return v1.Unknown, "no answer"
	}
	return v1.Shared, ""
}

// group is a probed group with what the probe and the facts say of it.
type group struct {
	v1.ProbedGroup
	leader        int64
	contradiction *contradiction
}

func (g *group) proved() bool { return g.Outcome == v1.Shared && g.contradiction == nil }

// group folds one group: shared only if it is for every member; not_shared if it is not for any.
func (m *members) group(of v1.Group) group {
	g := group{
		ProbedGroup: v1.ProbedGroup{Kind: of.Kind, Ranks: of.Ranks, Outcome: v1.Unknown, Facts: m.facts(of.Ranks)},
	}
	if len(of.Ranks) == 0 {
		return g
	}
	g.leader, g.Outcome = of.Ranks[0], v1.Shared
	found := make([]string, len(of.Ranks))
	for i, rank := range of.Ranks {
		outcome, reason := m.outcome(rank, g.leader, of.Kind)
		found[i] = outcome
		if outcome == v1.Shared {
			continue
		}
		g.Members = append(g.Members, v1.ProbedMember{Rank: rank, Node: m.node(rank), Outcome: outcome, Reason: reason})
		if g.Outcome != v1.NotShared {
			g.Outcome = outcome
		}
	}
	g.contradiction = m.contradict(of.Ranks, found)
	return g
}

// facts is what boot ids and devices alone say of ranks.
func (m *members) facts(ranks []int64) string {
	known, result := int64(unknownDomain), v1.Shared
	for _, rank := range ranks {
		switch domain := m.domain(rank); {
		case domain == unknownDomain:
			result = v1.Unknown
		case known == unknownDomain:
			known = domain
		case domain != known:
			return v1.NotShared
		}
	}
	return result
}
