package topology

import (
	"slices"
	"strings"
)

// survey finds the groups that are not proven to share memory and describes them. One survey serves all kinds of a fold: its
// buffers are shared, so that describing thousands of groups takes a handful of allocations.
type survey struct {
	p *Placement
	// domain is the memory domain of each rank, or unplaced.
	domain []int32
	// members holds the ranks of the group at hand, relations those of the kind at hand.
	members   []int64
	relations []relation
	list      rankWriter

	// ranks, names and text are what the facts point into.
	ranks []int64
	names []string
	text  strings.Builder
	// order holds the nodes of the ranks at hand, each once, in rank order; seen holds by node the number of the
	// description that last met it.
	order []int32
	seen  []int32
	count int32
	// missing caches what node.missing says.
	missing []string
}

// start takes a placement that has a source.
func (s *survey) start(p *Placement) {
	s.p, s.domain = p, make([]int32, len(p.at))
	for rank, at := range p.at {
		s.domain[rank] = unplaced
		if at != unplaced {
			s.domain[rank] = p.nodes.list[at].domain
		}
	}
}

// kind sorts the groups of one kind into local, spanning and open.
func (s *survey) kind(facts *GroupKind, lines Lines) {
	*facts = GroupKind{Size: lines.Size, Count: lines.Count, Spanning: []GroupFacts{}, Open: []GroupFacts{}}
	if lines.Size == 1 {
		facts.Local = lines.Count
		return
	}
	spanning, open := s.relate(lines)
	facts.Local = lines.Count - int64(spanning+open)
	if spanning+open == 0 {
		return
	}
	s.reserve(spanning+open, int(lines.Size))
	facts.Spanning = slices.Grow(facts.Spanning, spanning)
	facts.Open = slices.Grow(facts.Open, open)
	for group, relation := range s.relations {
		if relation == shared {
			continue
		}
		s.members = lines.Append(s.members[:0], int64(group))
		described := s.describe(s.members)
		if relation == apart {
			facts.Spanning = append(facts.Spanning, described)
			continue
		}
		described.Missing = s.missingOf(s.members)
		facts.Open = append(facts.Open, described)
	}
}

// relate writes down the relation of each group and counts those that do not share memory.
func (s *survey) relate(lines Lines) (spanning, open int) {
	s.relations = slices.Grow(s.relations[:0], int(lines.Count))
	for group := range lines.Count {
		s.members = lines.Append(s.members[:0], group)
		relation := s.relation(s.members)
		s.relations = append(s.relations, relation)
		switch relation {
		case apart:
			spanning++
		case unknown:
			open++
		case shared:
		}
	}
	return spanning, open
}

// reserve makes room for what the facts about so many groups point into.
func (s *survey) reserve(groups, size int) {
	s.ranks = make([]int64, 0, groups*size)
	s.names = make([]string, 0, groups*min(size, len(s.p.nodes.list)))
}

// relation tells whether ranks share memory.
func (s *survey) relation(ranks []int64) relation {
	first := s.domain[ranks[0]]
	same := first != unplaced
	for _, rank := range ranks {
		same = same && s.domain[rank] == first
	}
	if same {
		return shared
	}
	var fold spread
	for _, rank := range ranks {
		fold.add(s.p.node(rank))
	}
	return fold.relation()
}
