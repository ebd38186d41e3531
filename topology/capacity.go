package topology

import (
	"cmp"
	"math/bits"
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// maxStaleNames is how many leftover region files are named.
const maxStaleNames = 8

// domains lists the memory domains with what their nodes reported. A domain is there also where nothing runs, e.g. that of
// a head node with the engine core alone.
func (p *Placement) domains() []Domain {
	if len(p.nodes.list) == 0 {
		return nil
	}
	list := make([]Domain, p.nodes.domains)
	stale := make([]staleRegions, 0, 1)
	for i, names := range p.domainNodes() {
		list[i].Nodes = names
	}
	for i := range p.nodes.list {
		n := &p.nodes.list[i]
		if n.facts == nil {
			continue
		}
		d := &list[n.domain]
		if n.facts.Memory != nil {
			d.MemoryLimitBytes = smaller(d.MemoryLimitBytes, n.facts.Memory.LimitBytes)
		}
		if shm := n.facts.Shm; shm != nil {
			d.ShmTotalBytes = smaller(d.ShmTotalBytes, shm.TotalBytes)
			d.ShmFreeBytes = smaller(d.ShmFreeBytes, shm.FreeBytes)
			if shm.StaleRegions != nil {
				stale = append(stale, staleRegions{n.domain, shm.StaleRegions})
			}
		}
	}
	sumStale(list, stale)
	return list
}

// domainNodes lists the node ids of each domain, all in one buffer.
func (p *Placement) domainNodes() [][]string {
	ends := make([]int, p.nodes.domains+1)
	for i := range p.nodes.list {
		ends[p.nodes.list[i].domain+1]++
	}
	for d := 1; d < len(ends); d++ {
		ends[d] += ends[d-1]
	}
	names, lists := make([]string, len(p.nodes.list)), make([][]string, p.nodes.domains)
	for d := range lists {
		lists[d] = names[ends[d]:ends[d]:ends[d+1]]
	}
	for i := range p.nodes.list {
		n := &p.nodes.list[i]
		lists[n.domain] = append(lists[n.domain], n.id)
	}
	return lists
}

func smaller(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// staleRegions is what one node reported for its domain.
type staleRegions struct {
	domain  int32
	regions []v1.StaleRegion
}

// sumStale adds up leftover files by domain. Two nodes of a domain see the same file, so that a name counts once, with the
// larger of its sizes.
func sumStale(list []Domain, reports []staleRegions) {
	slices.SortStableFunc(reports, func(a, b staleRegions) int { return cmp.Compare(a.domain, b.domain) })
	for len(reports) > 0 {
		domain := reports[0].domain
		var all []v1.StaleRegion
		for len(reports) > 0 && reports[0].domain == domain {
			all = append(all, reports[0].regions...)
			reports = reports[1:]
		}
		slices.SortFunc(all, func(a, b v1.StaleRegion) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(b.Bytes, a.Bytes))
		})
		all = slices.CompactFunc(all, func(a, b v1.StaleRegion) bool { return a.Name == b.Name })
		stale := &Stale{Count: int64(len(all)), Names: make([]string, 0, min(len(all), maxStaleNames))}
		for _, region := range all {
			stale.Bytes = saturatingSum(stale.Bytes, region.Bytes)
			if len(stale.Names) < maxStaleNames {
				stale.Names = append(stale.Names, region.Name)
			}
		}
		list[domain].StaleRegions = stale
	}
}

// regionBytes is what the region files of one replica take in each domain where it has a rank: every node creates the whole
// file, whatever part of it is written there (vLLM #53474). It is 0 without a native offload.
func regionBytes(t *Transfer) int64 {
	var sum int64
	for i := range t.Connectors {
		if c := &t.Connectors[i]; c.Native && c.CPUBytes > 0 {
			sum = saturatingSum(sum, c.CPUBytes)
		}
	}
	return sum
}

// load writes into each domain how many ranks it holds, of which replicas, and what their regions take there. Resident are
// all bytes of a region where the replica's core is, which populates it, else the slots of the ranks here. A core that is
// not known to be here counts as elsewhere: that is a lower bound, so that the check never denies on a guess.
func (p *Placement) load(list []Domain, shares []share, region int64, coreDomain func(replica int64) int32) {
	numbers, replicas := make([]int64, 3*len(list)), make([]int64, len(shares))
	held := make([]int, len(list))
	for _, s := range shares {
		held[s.domain]++
	}
	for i := range list {
		own := numbers[3*i : 3*i+3]
		list[i].Ranks = &own[0]
		list[i].Replicas, replicas = replicas[:0:held[i]], replicas[held[i]:]
		if region > 0 {
			list[i].RegionBytes, list[i].ResidentBytes = &own[1], &own[2]
		}
	}
	world := p.Grid.Replica()
	for _, s := range shares {
		d, own := &list[s.domain], numbers[3*s.domain:3*s.domain+3]
		d.Replicas = append(d.Replicas, s.replica)
		resident := region
		if coreDomain(s.replica) != s.domain {
			resident = slots(region, s.ranks, world)
		}
		own[0] += s.ranks
		own[1] = saturatingSum(own[1], region)
		own[2] = saturatingSum(own[2], resident)
	}
}

// slots is the part of a region that some of its ranks write, rounded up to a byte; 0 <= ranks <= world.
func slots(region, ranks, world int64) int64 {
	high, low := bits.Mul64(uint64(region), uint64(ranks))
	low, carry := bits.Add64(low, uint64(world-1), 0)
	quotient, _ := bits.Div64(high+carry, low, uint64(world))
	return int64(quotient)
}
