package topology

import (
	"slices"
	"strconv"
	"strings"
)

// maxPlaced is how many nodes a sentence about a group names before it counts the rest.
const maxPlaced = 8

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

// describe says where the ranks of a group are.
func (s *survey) describe(ranks []int64) GroupFacts {
	s.visit(ranks)
	facts := GroupFacts{Replica: ranks[0] / s.p.Grid.Replica(), Nodes: s.nodeNames()}
	start := len(s.ranks)
	s.ranks = append(s.ranks, ranks...)
	facts.Ranks = s.ranks[start:len(s.ranks):len(s.ranks)]
	from := s.text.Len()
	s.writePlaced(ranks)
	facts.Placed = s.text.String()[from:]
	return facts
}

// visit collects the nodes of ranks in order.
func (s *survey) visit(ranks []int64) {
	if s.seen == nil {
		s.seen = make([]int32, len(s.p.nodes.list))
		s.order = make([]int32, 0, len(s.p.nodes.list))
	}
	s.count++
	s.order = s.order[:0]
	for _, rank := range ranks {
		at := s.p.at[rank]
		if at != unplaced && s.seen[at] != s.count {
			s.seen[at] = s.count
			s.order = append(s.order, at)
		}
	}
}

// nodeNames returns the ids of the nodes last visited.
func (s *survey) nodeNames() []string {
	if cap(s.names)-len(s.names) < len(s.order) {
		s.names = make([]string, 0, len(s.order))
	}
	start := len(s.names)
	for _, at := range s.order {
		s.names = append(s.names, s.p.nodes.list[at].id)
	}
	return s.names[start:len(s.names):len(s.names)]
}

// writePlaced writes ranks by node, e.g. "rank 0 on gpu-a, ranks 1-3 on gpu-b".
func (s *survey) writePlaced(ranks []int64) {
	for i, at := range s.order {
		if i > 0 {
			s.text.WriteString(", ")
		}
		if i == maxPlaced {
			s.text.WriteString("the rest on ")
			s.text.WriteString(strconv.Itoa(len(s.order) - i))
			s.text.WriteString(" more nodes")
			break
		}
		s.writeRanksAt(ranks, at)
		s.text.WriteString(" on ")
		s.text.WriteString(s.p.nodes.list[at].id)
	}
	if s.writeLost(ranks) {
		s.text.WriteString(" on no known node")
	}
}

func (s *survey) writeLost(ranks []int64) bool {
	for _, rank := range ranks {
		if s.p.at[rank] != unplaced {
			continue
		}
		if len(s.order) > 0 {
			s.text.WriteString(", ")
		}
		s.writeRanksAt(ranks, unplaced)
		return true
	}
	return false
}

// writeRanksAt writes those of the ranks that are on one node.
func (s *survey) writeRanksAt(ranks []int64, at int32) {
	for _, rank := range ranks {
		if s.p.at[rank] == at {
			s.list.add(rank)
		}
	}
	s.text.Write(s.list.finish())
}

// missingOf names the absent facts of the nodes last visited and the ranks without a node.
func (s *survey) missingOf(ranks []int64) []string {
	if s.missing == nil {
		s.missing = make([]string, len(s.p.nodes.list))
	}
	list := make([]string, 0, len(s.order)+1)
	for _, at := range s.order {
		if s.missing[at] == "" {
			s.missing[at] = s.p.nodes.list[at].missing()
		}
		if s.missing[at] != "" {
			list = append(list, s.missing[at])
		}
	}
	for _, rank := range ranks {
		if s.p.at[rank] == unplaced {
			list = append(list, "node of rank "+strconv.FormatInt(rank, 10))
		}
	}
	return list
}
