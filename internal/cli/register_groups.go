package cli

import (
	"slices"
	"strings"

	gate "github.com/tiergate/tiergate/runtime"
	"github.com/tiergate/tiergate/topology"
)

// grouped reads --group. The sizes are those of the groups.
func (c *registerCmd) grouped() (*shape, error) {
	if c.Tensor != 0 || c.Pipeline != 0 || c.PrefillContext != 0 {
		return nil, usagef("give sizes (--tensor, --pipeline, --prefill-context) or groups (--group), not both")
	}
	s := &shape{Grid: topology.Grid{Tensor: 1, PrefillContext: 1, Pipeline: 1, Data: 1}, given: map[string][][]int64{}}
	size := map[string]*int64{topology.TP: &s.Tensor, topology.PP: &s.Pipeline, topology.PCP: &s.PrefillContext}
	for _, text := range c.Group {
		kind, list, _ := strings.Cut(text, "=")
		if size[kind] == nil {
			return nil, usagef("--group %s: write tp, pp or pcp, = and ranks, e.g. tp=0,1", text)
		}
		ranks, err := gate.ParseRanks(list)
		if err != nil {
			return nil, usagef("--group %s: %s", text, err)
		}
		for _, other := range s.given[kind] {
			if len(other) != len(ranks) {
				return nil, usagef("--group %s: its size differs from that of the group of %s", text, topology.RankList(other))
			}
		}
		*size[kind] = int64(len(ranks))
		s.given[kind] = append(s.given[kind], ranks)
	}
	return s, nil
}

// check refuses a rank that is not in one given group of each kind, and groups of ranks that there are not.
func (s *shape) check(rank int64) error {
	for _, kind := range registeredKinds {
		in := 0
		for _, group := range s.given[kind] {
			if err := within(group, s.world(), "--group "+kind); err != nil {
				return err
			}
			if slices.Contains(group, rank) {
				in++
			}
		}
		if s.given[kind] != nil && in != 1 {
			return usagef("rank %d is in %d groups of the kind %s; give each rank of this process one --group of each kind", rank, in, kind)
		}
	}
	return nil
}
