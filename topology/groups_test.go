package topology

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func groupsOf(l Lines) [][]int64 {
	list := [][]int64{}
	for group := range l.Count {
		list = append(list, l.Append(nil, group))
	}
	return list
}

// The worked examples of vLLM's parallel state; the order of the groups in a list is ours.
func TestGroupsOfWorkedExamples(t *testing.T) {
	flat := Grid{Tensor: 2, PrefillContext: 1, Pipeline: 2, Data: 1}
	cube := Grid{Tensor: 2, PrefillContext: 2, Pipeline: 2, Data: 1}
	replicas := Grid{Tensor: 2, PrefillContext: 1, Pipeline: 2, Data: 2}
	for _, test := range []struct {
		name  string
		lines Lines
		want  [][]int64
	}{
		{"flat tp", flat.Lines(TP), [][]int64{{0, 1}, {2, 3}}},
		{"flat pp", flat.Lines(PP), [][]int64{{0, 2}, {1, 3}}},
		{"flat pcp", flat.Lines(PCP), [][]int64{{0}, {1}, {2}, {3}}},
		{"flat dcp 2", flat.DecodeLines(2, DecodePrefillFastest), [][]int64{{0, 1}, {2, 3}}},
		{"flat ep", flat.Lines(EP), [][]int64{{0, 1}, {2, 3}}},
		{"cube tp", cube.Lines(TP), [][]int64{{0, 1}, {2, 3}, {4, 5}, {6, 7}}},
		{"cube pcp", cube.Lines(PCP), [][]int64{{0, 2}, {1, 3}, {4, 6}, {5, 7}}},
		{"cube pp", cube.Lines(PP), [][]int64{{0, 4}, {1, 5}, {2, 6}, {3, 7}}},
		{"cube ep", cube.Lines(EP), [][]int64{{0, 1, 2, 3}, {4, 5, 6, 7}}},
		{"cube dcp 1", cube.DecodeLines(1, DecodePrefillFastest), [][]int64{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}},
		{"cube dcp 2", cube.DecodeLines(2, DecodePrefillFastest), [][]int64{{0, 2}, {1, 3}, {4, 6}, {5, 7}}},
		{"cube dcp 2, older", cube.DecodeLines(2, DecodeConsecutive), [][]int64{{0, 1}, {2, 3}, {4, 5}, {6, 7}}},
		{"cube dcp 4", cube.DecodeLines(4, DecodePrefillFastest), [][]int64{{0, 2, 1, 3}, {4, 6, 5, 7}}},
		{"cube dcp 4, older", cube.DecodeLines(4, DecodeConsecutive), [][]int64{{0, 1, 2, 3}, {4, 5, 6, 7}}},
		{"replicas tp", replicas.Lines(TP), [][]int64{{0, 1}, {2, 3}, {4, 5}, {6, 7}}},
		{"replicas pp", replicas.Lines(PP), [][]int64{{0, 2}, {1, 3}, {4, 6}, {5, 7}}},
		{"replicas dp", replicas.Lines(DP), [][]int64{{0, 4}, {1, 5}, {2, 6}, {3, 7}}},
		{"replicas ep", replicas.Lines(EP), [][]int64{{0, 1, 4, 5}, {2, 3, 6, 7}}},
		{"dcp that does not divide a replica", flat.DecodeLines(3, DecodePrefillFastest), [][]int64{}},
		{"dcp of more than a replica", flat.DecodeLines(8, DecodeConsecutive), [][]int64{}},
		{"dcp below 1", flat.DecodeLines(0, DecodeConsecutive), [][]int64{}},
		{"a kind that does not exist", flat.Lines("world"), [][]int64{}},
		{"a grid without ranks", Grid{Tensor: 2, Pipeline: 2, Data: 1}.Lines(EP), [][]int64{}},
		{"dcp of a grid without ranks", Grid{Tensor: 2}.DecodeLines(1, DecodeConsecutive), [][]int64{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, groupsOf(test.lines))
		})
	}
}

// The groups of a kind are those ranks that agree in all coordinates but the kind's own.
func TestGroupsAgreeWithCoordinates(t *testing.T) {
	fixed := map[string]func(d, p, c, t int64) [4]int64{
		TP:  func(d, p, c, _ int64) [4]int64 { return [4]int64{d, p, c} },
		PCP: func(d, p, _, t int64) [4]int64 { return [4]int64{d, p, t} },
		PP:  func(d, _, c, t int64) [4]int64 { return [4]int64{d, c, t} },
		DP:  func(_, p, c, t int64) [4]int64 { return [4]int64{p, c, t} },
		EP:  func(_, p, _, _ int64) [4]int64 { return [4]int64{p} },
	}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 5)
		grid := Grid{size.Draw(t, "tp"), size.Draw(t, "pcp"), size.Draw(t, "pp"), size.Draw(t, "dp")}
		for kind, others := range fixed {
			want := map[[4]int64][]int64{}
			rank := int64(0)
			for d := range grid.Data {
				for p := range grid.Pipeline {
					for c := range grid.PrefillContext {
						for i := range grid.Tensor {
							key := others(d, p, c, i)
							want[key] = append(want[key], rank)
							rank++
						}
					}
				}
			}
			lines := grid.Lines(kind)
			require.Equal(t, int64(len(want)), lines.Count, kind)
			got := groupsOf(lines)
			for _, group := range want {
				require.Equal(t, group, got[lines.GroupOf(group[0])], kind)
			}
		}
	})
}

// Every rank is in exactly one group, and GroupOf finds it.
func TestDecodeGroupsPartitionTheGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 6)
		grid := Grid{size.Draw(t, "tp"), size.Draw(t, "pcp"), size.Draw(t, "pp"), rapid.Int64Range(1, 3).Draw(t, "dp")}
		rule := rapid.SampledFrom([]DecodeRule{DecodePrefillFastest, DecodeConsecutive}).Draw(t, "rule")
		lines := grid.DecodeLines(rapid.Int64Range(1, grid.Replica()).Draw(t, "dcp"), rule)
		if lines.Count == 0 {
			return
		}
		var all []int64
		for group, ranks := range groupsOf(lines) {
			require.Len(t, ranks, int(lines.Size))
			for _, rank := range ranks {
				require.Equal(t, int64(group), lines.GroupOf(rank))
			}
			all = append(all, ranks...)
		}
		slices.Sort(all)
		require.Len(t, slices.Compact(all), int(grid.World()))
	})
}

// Without prefill context parallelism the two rules must not differ.
func TestDecodeRulesAgreeWithoutPrefillContext(t *testing.T) {
	grid := Grid{Tensor: 4, PrefillContext: 1, Pipeline: 3, Data: 2}
	for _, size := range []int64{1, 2, 4} {
		assert.Equal(t, groupsOf(grid.DecodeLines(size, DecodeConsecutive)),
			groupsOf(grid.DecodeLines(size, DecodePrefillFastest)), size)
	}
}

func TestProbeGroups(t *testing.T) {
	assert.Equal(t, []v1.Group{
		{Kind: TP, Ranks: []int64{0, 1}},
		{Kind: TP, Ranks: []int64{2, 3}},
		{Kind: TP, Ranks: []int64{4, 5}},
		{Kind: TP, Ranks: []int64{6, 7}},
		{Kind: PCP, Ranks: []int64{0, 2}},
		{Kind: PCP, Ranks: []int64{1, 3}},
		{Kind: PCP, Ranks: []int64{4, 6}},
		{Kind: PCP, Ranks: []int64{5, 7}},
	}, ProbeGroups(engineOf("mp", 2, 2, 1, 2), StageLaunch), "groups of one rank prove nothing, DP groups need no proof")
	assert.Equal(t, []v1.Group{
		{Kind: TP, Ranks: []int64{0, 1}},
		{Kind: TP, Ranks: []int64{2, 3}},
		{Kind: PP, Ranks: []int64{0, 2}},
		{Kind: PP, Ranks: []int64{1, 3}},
	}, ProbeGroups(engineOf("mp", 2, 1, 2, 1), StageLaunch), "TP comes before PP")
	assert.Equal(t, ProbeGroups(engineOf("mp", 2, 2, 2, 1), StageLaunch), ProbeGroups(engineOf("mp", 2, 2, 2, 3), StageRegistration),
		"at registration one replica proves itself")
	assert.Empty(t, ProbeGroups(engineOf("uni", 1, 1, 1, 4), StageLaunch), "one worker has nobody to share with")
	assert.Empty(t, ProbeGroups(engineOf("mp", 0, 1, 2, 1), StageLaunch), "a size below 1")
	assert.Empty(t, ProbeGroups(engineOf("mp", 1<<31, 1<<31, 1, 1), StageLaunch), "too large to judge")
}
