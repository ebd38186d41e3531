package topology

import "strconv"

// maxPlaced is how many nodes a sentence about a group names before it counts the rest.
const maxPlaced = 8

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
			s.list.add(rank)
		}
	}
	if lost := s.list.finish(); len(lost) > 0 {
		list = append(list, "node of "+string(lost))
	}
	return list
}
