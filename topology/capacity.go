package topology

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

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
	p.nameNodes(list)
	for i := range p.nodes.list {
		n := &p.nodes.list[i]
		if n.facts == nil {
			continue
		}
		d := &list[n.domain]
		if n.facts.Memory != nil {
			d.MemoryLimitBytes = smaller(d.MemoryLimitBytes, n.facts.Memory.LimitBytes)
		}
		if n.facts.Shm != nil {
			d.ShmTotalBytes = smaller(d.ShmTotalBytes, n.facts.Shm.TotalBytes)
			d.ShmFreeBytes = smaller(d.ShmFreeBytes, n.facts.Shm.FreeBytes)
		}
	}
	p.sumStale(list)
	return list
}

// nameNodes writes the node ids of each domain, all into one buffer.
func (p *Placement) nameNodes(list []Domain) {
	counts := make([]int, len(list))
	for i := range p.nodes.list {
		counts[p.nodes.list[i].domain]++
	}
	names := make([]string, len(p.nodes.list))
	for d, count := range counts {
		list[d].Nodes, names = names[:0:count], names[count:]
	}
	for i := range p.nodes.list {
		d := &list[p.nodes.list[i].domain]
		d.Nodes = append(d.Nodes, p.nodes.list[i].id)
	}
}

func smaller(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// leftover is a region file that a node of a domain reported.
type leftover struct {
	domain int32
	v1.StaleRegion
}

// sumStale adds up leftover files by domain. Two nodes of a domain see the same file, so that a name counts once, with the
// larger of its sizes. An empty report says that there are none.
func (p *Placement) sumStale(list []Domain) {
	var all []leftover
	// Most domains have none: they share one answer.
	var none *Stale
	for i := range p.nodes.list {
		n := &p.nodes.list[i]
		if n.facts == nil || n.facts.Shm == nil || n.facts.Shm.StaleRegions == nil {
			continue
		}
		if none == nil {
			none = &Stale{Names: []string{}}
		}
		list[n.domain].StaleRegions = none
		for _, region := range n.facts.Shm.StaleRegions {
			all = append(all, leftover{n.domain, region})
		}
	}
	slices.SortFunc(all, func(a, b leftover) int {
		return cmp.Or(cmp.Compare(a.domain, b.domain), strings.Compare(a.Name, b.Name), cmp.Compare(b.Bytes, a.Bytes))
	})
	for i, file := range all {
		if i > 0 && all[i-1].domain == file.domain && all[i-1].Name == file.Name {
			continue
		}
		if list[file.domain].StaleRegions == none {
			list[file.domain].StaleRegions = &Stale{}
		}
		sum := list[file.domain].StaleRegions
		sum.Count++
		sum.Bytes = saturatingSum(sum.Bytes, file.Bytes)
		if len(sum.Names) < maxStaleNames {
			sum.Names = append(sum.Names, file.Name)
		}
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
func (p *Placement) load(list []Domain, shares []share, region int64, coreDomain func(replica int32) int32) {
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
		d.Replicas = append(d.Replicas, int64(s.replica))
		resident := region
		if coreDomain(s.replica) != s.domain {
			resident = slots(region, int64(s.ranks), world)
		}
		own[0] += int64(s.ranks)
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
