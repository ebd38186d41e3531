package topology

import "slices"

// share is how many ranks of one replica are in one memory domain.
type share struct {
	replica, domain, ranks int32
}

// shares counts the placed ranks by replica and domain, in replica order.
func (s *survey) shares() []share {
	world, replica := s.p.Grid.World(), s.p.Grid.Replica()
	list := make([]share, 0, max(s.p.Grid.Data, int64(s.p.nodes.domains)))
	// at is, by domain, where its share of the replica at hand is in the list, counted from 1.
	at := make([]int, s.p.nodes.domains)
	for first := int64(0); first < world; first += replica {
		start := len(list)
		for rank := first; rank < first+replica; rank++ {
			domain := s.domain[rank]
			if domain == unplaced {
				continue
			}
			if at[domain] <= start {
				list = append(list, share{replica: int32(first / replica), domain: domain})
				at[domain] = len(list)
			}
			list[at[domain]-1].ranks++
		}
	}
	return list
}

// replicas lists the replicas that are known to be in more than one memory domain.
func (s *survey) replicas(shares []share) *Replicas {
	replica := s.p.Grid.Replica()
	facts := &Replicas{Count: s.p.Grid.Data, Spanning: []SpanningReplica{}}
	for len(shares) > 0 {
		var own []share
		own, shares = cutReplica(shares)
		if len(own) == 1 {
			continue
		}
		s.members = slices.Grow(s.members[:0], int(replica))
		first := int64(own[0].replica) * replica
		for rank := first; rank < first+replica; rank++ {
			s.members = append(s.members, rank)
		}
		if s.relation(s.members) != apart {
			continue
		}
		s.visit(s.members)
		spanning := SpanningReplica{Replica: int64(own[0].replica), Nodes: s.nodeNames(), Domains: int64(len(own))}
		for _, share := range own {
			spanning.LargestShare = max(spanning.LargestShare, int64(share.ranks))
		}
		facts.Spanning = append(facts.Spanning, spanning)
	}
	return facts
}

// cutReplica cuts off the shares of the first replica.
func cutReplica(shares []share) (first, rest []share) {
	end := 1
	for end < len(shares) && shares[end].replica == shares[0].replica {
		end++
	}
	return shares[:end], shares[end:]
}
