package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestRanksOfDeclaredWorkers(t *testing.T) {
	facts := fold(t, placed("AB"), engineOf("ray", 2, 1, 1, 1)).Ranks
	assert.Equal(t, &Ranks{
		World: 2, Missing: []int64{}, Duplicate: []DuplicateRank{}, OutOfRange: []int64{}, OffGrid: []OffGrid{},
	}, facts)
	assert.Nil(t, fold(t, &v1.Launch{}, engineOf("mp", 2, 1, 1, 1)).Ranks, "nobody declared a worker")

	// A local rank taken for a global one: 0 and 1 twice, 2 and 3 never.
	launch := placed("AA")
	launch.Nodes = letters("AB")
	launch.Workers = append(launch.Workers, v1.Worker{Rank: 1, Node: "B"}, v1.Worker{Rank: 0, Node: "B"}, v1.Worker{Rank: 0, Node: "A"},
		v1.Worker{Rank: 7, Node: "A"}, v1.Worker{Rank: -1, Node: "A"}, v1.Worker{Rank: 7, Node: "B"})
	facts = fold(t, launch, engineOf("external_launcher", 4, 1, 1, 1)).Ranks
	assert.Equal(t, &Ranks{
		World: 4, Missing: []int64{2, 3},
		Duplicate:  []DuplicateRank{{Rank: 0, Nodes: []string{"A", "B"}}, {Rank: 1, Nodes: []string{"A", "B"}}},
		OutOfRange: []int64{-1, 7}, OffGrid: []OffGrid{},
	}, facts)
}

func TestDeclaredGroups(t *testing.T) {
	engine := engineOf("ray", 2, 2, 2, 2).with(func(e *Engine) { e.DecodeContext = 4 })
	for _, test := range []struct {
		name     string
		rank     int64
		kind     string
		declared []int64
		// expected is the line of the grid where the declared group is not it.
		expected []int64
	}{
		{"tp", 2, TP, []int64{2, 3}, nil},
		{"tp in another order", 2, TP, []int64{3, 2}, nil},
		{"pcp", 5, PCP, []int64{5, 7}, nil},
		{"pp", 1, PP, []int64{1, 5}, nil},
		{"dp", 3, DP, []int64{3, 11}, nil},
		{"ep", 4, EP, []int64{4, 5, 6, 7, 12, 13, 14, 15}, nil},
		{"dcp, newest rule", 6, DCP, []int64{4, 6, 5, 7}, nil},
		{"dcp, older rule", 6, DCP, []int64{4, 5, 6, 7}, nil},
		{"a line of another axis", 0, TP, []int64{0, 2}, []int64{0, 1}},
		{"a line without the rank itself", 0, TP, []int64{2, 3}, []int64{0, 1}},
		{"a rank twice", 0, TP, []int64{0, 0}, []int64{0, 1}},
		{"too few", 0, TP, []int64{0}, []int64{0, 1}},
		{"too many", 0, TP, []int64{0, 1, 2}, []int64{0, 1}},
		{"none", 0, PP, []int64{}, []int64{0, 4}},
		{"a rank that does not exist", 0, TP, []int64{0, 16}, []int64{0, 1}},
		{"a negative rank", 0, TP, []int64{-1, 0}, []int64{0, 1}},
		{"dcp by neither rule", 0, DCP, []int64{0, 1, 4, 5}, []int64{0, 2, 1, 3}},
		{"an unknown kind", 0, "world", []int64{0, 1}, []int64{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			launch := placed("AAAAAAAAAAAAAAAA")
			launch.Workers[test.rank].Groups = map[string][]int64{test.kind: test.declared}
			want := []OffGrid{}
			if test.expected != nil {
				want = append(want, OffGrid{Rank: test.rank, Node: "A", Kind: test.kind, Declared: test.declared, Expected: test.expected})
			}
			assert.Equal(t, want, fold(t, launch, engine).Ranks.OffGrid)
		})
	}
}

func TestDeclaredGroupsAreListedInOrder(t *testing.T) {
	launch := placed("AAAA")
	launch.Workers[1].Groups = map[string][]int64{TP: {1, 3}, PP: {0, 1}, "eplb": {1}}
	launch.Workers[0].Groups = map[string][]int64{TP: {0, 2}, PP: {0, 2}}
	launch.Workers[0], launch.Workers[3] = launch.Workers[3], launch.Workers[0]
	assert.Equal(t, []OffGrid{
		{0, "A", TP, []int64{0, 2}, []int64{0, 1}},
		{1, "A", "eplb", []int64{1}, []int64{}},
		{1, "A", PP, []int64{0, 1}, []int64{1, 3}},
		{1, "A", TP, []int64{1, 3}, []int64{0, 1}},
	}, fold(t, launch, engineOf("ray", 2, 1, 2, 1)).Ranks.OffGrid)
}

func TestDeclaredGroupsThatCannotBeJudged(t *testing.T) {
	launch := placed("AAAA")
	launch.Workers[0].Groups = map[string][]int64{DCP: {0, 3}}
	launch.Workers = append(launch.Workers, v1.Worker{Rank: 4, Node: "A", Groups: map[string][]int64{TP: {4, 5}}})
	engine := engineOf("ray", 4, 1, 1, 1).with(func(e *Engine) { e.DecodeContext = 3 })
	assert.Equal(t, []OffGrid{{0, "A", DCP, []int64{0, 3}, []int64{}}}, fold(t, launch, engine).Ranks.OffGrid,
		"a size of 3 has no groups; the groups of a rank out of range are not looked at")
	engine.Unresolved = []Unresolved{{Setting: SettingDecodeContext}}
	assert.Empty(t, fold(t, launch, engine).Ranks.OffGrid)
}

// TestOffGridIsBounded: every worker of a large grid declares a wrong group, whose right one is as long as the grid.
func TestOffGridIsBounded(t *testing.T) {
	launch := &v1.Launch{}
	for rank := range int64(8192) {
		launch.Workers = append(launch.Workers, v1.Worker{Rank: rank, Node: "a", Groups: map[string][]int64{TP: {0}}})
	}
	ranks := fold(t, launch, engineOf("ray", 8192, 1, 1, 1)).Ranks
	require.Len(t, ranks.OffGrid, 16)
	assert.EqualValues(t, 8192-16, ranks.OffGridMore)
	assert.EqualValues(t, 15, ranks.OffGrid[15].Rank)
}
