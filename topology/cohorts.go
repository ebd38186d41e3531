package topology

import (
	"cmp"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// cohorts are sets of workers that agree on something, by label. A worker is in one at most; each set is a chain through
// next, so that any number of them takes the same memory.
type cohorts struct {
	p       *Placement
	workers []v1.Worker
	chains  []chain
	next    []int32
	// seen holds, by node, the cohort that last named it, counted from 1.
	seen []int32
	list rankWriter
}

type chain struct{ first, last int32 }

const chainEnd = -1

func (f *folder) newCohorts() *cohorts {
	return &cohorts{
		p:       &f.p,
		workers: f.launch.Workers,
		next:    make([]int32, len(f.launch.Workers)),
		seen:    make([]int32, len(f.p.nodes.list)),
	}
}

// byRank lists the indexes of the workers in the order of ranks, then node ids, in which they must be added.
func (c *cohorts) byRank() []int32 {
	order := make([]int32, len(c.workers))
	for i := range order {
		order[i] = int32(i)
	}
	compare := func(i, j int32) int {
		a, b := &c.workers[i], &c.workers[j]
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), strings.Compare(a.Node, b.Node))
	}
	if !slices.IsSortedFunc(order, compare) {
		slices.SortStableFunc(order, compare)
	}
	return order
}

// add puts a worker into a cohort; labels come in the order 0, 1, ...
func (c *cohorts) add(label, worker int32) {
	c.next[worker] = chainEnd
	if int(label) == len(c.chains) {
		c.chains = append(c.chains, chain{worker, worker})
		return
	}
	own := &c.chains[label]
	c.next[own.last] = worker
	own.last = worker
}

// describe lists the ranks of a cohort for people, and its nodes, each once.
func (c *cohorts) describe(label int) (ranks string, nodes []string) {
	for i := c.chains[label].first; i != chainEnd; i = c.next[i] {
		c.list.add(c.workers[i].Rank)
		if at := c.p.claims[i]; c.seen[at] != int32(label)+1 {
			c.seen[at] = int32(label) + 1
			nodes = append(nodes, c.p.nodes.list[at].id)
		}
	}
	return string(c.list.finish()), nodes
}
