package e2e

import (
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/e2e/worker"
)

// line is a group with more than one rank.
type line struct {
	kind  string
	ranks []int64
}

// lines are the groups of a grid that are probed, found by brute force: ranks that differ in one coordinate only.
func (g grid) lines() []line {
	var list []line
	for axis, kind := range [...]string{"tp", "pp", "pcp"} {
		seen := map[grid]int{}
		for rank := range g.world() {
			at := g.coordinates(rank)
			at[axis] = -1
			i, known := seen[at]
			if !known {
				i, seen[at] = len(list), len(list)
				list = append(list, line{kind: kind})
			}
			list[i].ranks = append(list[i].ranks, rank)
		}
	}
	var probed []line
	for _, l := range list {
		if len(l.ranks) > 1 {
			probed = append(probed, l)
		}
	}
	return probed
}

// coordinates are a rank's along tensor, pipeline and prefill context.
func (g grid) coordinates(rank int64) grid {
	return grid{rank % g[0], rank / g[0] / g[2], rank / g[0] % g[2]}
}

// outcome is what a rank on one place finds of a segment of another.
func outcome(reader, leader place) string {
	switch {
	case !reader.sharable || !leader.sharable:
		return v1.Unknown
	case reader.memory != leader.memory:
		return v1.NotShared
	}
	return v1.Shared
}

// opened is what each worker must open, and find, by where the ranks of its replica are. Names and errors are left out.
func (s *site) opened(e *engine) [][]worker.Opened {
	var all [][]worker.Opened
	world := int(e.grid.world())
	for at := range slices.Chunk([]rune(e.placement), world) {
		replica := make([][]worker.Opened, world)
		for _, l := range e.grid.lines() { // tp, then pp, then pcp, as every rank must
			for _, rank := range l.ranks {
				replica[rank] = append(replica[rank], worker.Opened{
					Kind: l.kind, Leader: l.ranks[0], Outcome: outcome(s.places[at[rank]], s.places[at[l.ranks[0]]]),
				})
			}
		}
		all = append(all, replica...)
	}
	return all
}

// probed are the groups with what the probe must find, by where the ranks are.
func (s *site) probed(e *engine, facts func(l line) string) []v1.ProbedGroup {
	at := []rune(e.placement)
	var groups []v1.ProbedGroup
	for _, l := range e.grid.lines() {
		worst := v1.Shared
		for _, rank := range l.ranks {
			switch outcome(s.places[at[rank]], s.places[at[l.ranks[0]]]) {
			case v1.NotShared:
				worst = v1.NotShared
			case v1.Unknown:
				if worst == v1.Shared {
					worst = v1.Unknown
				}
			}
		}
		groups = append(groups, v1.ProbedGroup{Kind: l.kind, Ranks: l.ranks, Outcome: worst, Facts: facts(l)})
	}
	return groups
}

// spans is what honest facts say of a group.
func (s *site) spans(e *engine) func(l line) string {
	at := []rune(e.placement)
	return func(l line) string {
		for _, rank := range l.ranks {
			if s.places[at[rank]].memory != s.places[at[l.ranks[0]]].memory {
				return v1.NotShared
			}
		}
		return v1.Shared
	}
}

func always(facts string) func(line) string { return func(line) string { return facts } }
