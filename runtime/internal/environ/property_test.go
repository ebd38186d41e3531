package environ

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// The variables of one quantity, in the order of precedence that runtime facts give: torchrun, MPI, Slurm.
var orders = map[Quantity][]string{
	Rank:      {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"},
	LocalRank: {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"},
	WorldSize: {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"},
	NodeRank:  {"NODE_RANK", "SLURM_NODEID", "LWS_WORKER_INDEX", "SKYPILOT_NODE_RANK"},
	Nodes:     {"GROUP_WORLD_SIZE", "SLURM_STEP_NUM_NODES", "LWS_GROUP_SIZE", "SKYPILOT_NUM_NODES"},
}

func (e *Environment) of(q Quantity) Number {
	return map[Quantity]Number{
		Rank: e.Rank, LocalRank: e.LocalRank, WorldSize: e.WorldSize, NodeRank: e.NodeRank, Nodes: e.Nodes,
	}[q]
}

// Whatever variables are set: the first in order is taken, every other that differs is reported once and no other is, and
// the order of the list does not matter.
func TestPrecedence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		env, values := []string{"SLURM_STEP_ID=0"}, map[string]int64{}
		for q, names := range orders {
			for _, name := range names {
				if !rapid.Bool().Draw(t, "set "+name) {
					continue
				}
				// Sizes are above every index, so that nothing is out of range.
				least := int64(0)
				if q == WorldSize || q == Nodes {
					least = 3
				}
				values[name] = rapid.Int64Range(least, least+2).Draw(t, name)
				env = append(env, fmt.Sprintf("%s=%d", name, values[name]))
			}
		}
		e := From(rapid.Permutation(env).Draw(t, "order"))
		assert.Empty(t, e.Unreadable)
		var want []Contradiction
		for q, names := range orders {
			set := slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, found := values[name]; return !found })
			if len(set) == 0 {
				assert.False(t, e.of(q).Known(), q)
				continue
			}
			taken := Number{values[set[0]], set[0]}
			assert.Equal(t, taken, e.of(q), q)
			for _, name := range set[1:] {
				if values[name] != taken.Value {
					want = append(want, Contradiction{q, taken, Number{values[name], name}})
				}
			}
		}
		assert.ElementsMatch(t, want, e.Contradictions)
	})
}

// FuzzFrom: no environment brings it down, and what it takes keeps to its bounds.
func FuzzFrom(f *testing.F) {
	for _, seed := range []string{"RANK=1\x00WORLD_SIZE=2", "SLURM_STEP_ID=0\x00SLURM_NODEID=3\x00SLURM_TASKS_PER_NODE=4(x2),3", "TIERGATE_RANKS=0-3,8"} {
		f.Add(seed, int64(8))
	}
	f.Fuzz(func(t *testing.T, text string, world int64) {
		e := From(strings.Split(text, "\x00"))
		if e.Rank.Known() && e.launchedWorld.Known() && e.launchedWorld.Source != "" && len(e.Contradictions) == 0 {
			assert.Less(t, e.Rank.Value, e.launchedWorld.Value)
		}
		if world < 1 || world > MaxRanks {
			return
		}
		if ranks, err := e.RanksOf(world); err == nil {
			assert.NotEmpty(t, ranks.Value)
			assert.True(t, slices.IsSorted(ranks.Value))
		}
	})
}
