package topology

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// kindsOf pairs the three kinds that every policy sees with their names.
func kindsOf(g *Groups) map[string]*GroupKind {
	return map[string]*GroupKind{TP: g.TP, PP: g.PP, PCP: g.PCP}
}

// spanningOf writes the spanning groups as "tp[2 3]", sorted.
func spanningOf(g *Groups) []string {
	list := []string{}
	for kind, groups := range kindsOf(g) {
		for _, group := range groups.Spanning {
			list = append(list, kind+fmt.Sprint(group.Ranks))
		}
	}
	slices.Sort(list)
	return list
}

// Which groups span, and which ranks have a spanning group: vLLM #62930 raises on these ranks only.
func TestSpanningGroups(t *testing.T) {
	for _, test := range []struct {
		grid      string
		engine    *Engine
		placement string
		spanning  []string
		ranks     []int64
	}{
		{"PP2 TP2", engineOf("ray", 2, 1, 2, 1), "AAAA", []string{}, nil},
		{"PP2 TP2", engineOf("ray", 2, 1, 2, 1), "AAAB", []string{"pp[1 3]", "tp[2 3]"}, []int64{1, 2, 3}},
		{"PP2 TP2", engineOf("ray", 2, 1, 2, 1), "AABB", []string{"pp[0 2]", "pp[1 3]"}, []int64{0, 1, 2, 3}},
		{"PP2 TP2", engineOf("ray", 2, 1, 2, 1), "ABAB", []string{"tp[0 1]", "tp[2 3]"}, []int64{0, 1, 2, 3}},
		{
			"PP2 PCP2 TP2", engineOf("ray", 2, 2, 2, 1), "AAAAAAAB",
			[]string{"pcp[5 7]", "pp[3 7]", "tp[6 7]"},
			[]int64{3, 5, 6, 7},
		},
		{
			"PP2 PCP2 TP2", engineOf("ray", 2, 2, 2, 1), "AAAABBBB",
			[]string{"pp[0 4]", "pp[1 5]", "pp[2 6]", "pp[3 7]"},
			[]int64{0, 1, 2, 3, 4, 5, 6, 7},
		},
		{
			"PP2 PCP2 TP2", engineOf("ray", 2, 2, 2, 1), "AABBAABB",
			[]string{"pcp[0 2]", "pcp[1 3]", "pcp[4 6]", "pcp[5 7]"},
			[]int64{0, 1, 2, 3, 4, 5, 6, 7},
		},
		{"PP3 TP3", engineOf("ray", 3, 1, 3, 1), "AAAAAAAAB", []string{"pp[2 5 8]", "tp[6 7 8]"}, []int64{2, 5, 6, 7, 8}},
		{"DP2 TP2", engineOf("ray", 2, 1, 1, 2), "AABB", []string{}, nil},
	} {
		t.Run(test.grid+" "+test.placement, func(t *testing.T) {
			groups := fold(t, placed(test.placement), test.engine).Groups
			assert.Equal(t, test.spanning, spanningOf(groups))
			var ranks []int64
			for kind, facts := range kindsOf(groups) {
				assert.Equal(t, facts.Count, facts.Local+int64(len(facts.Spanning)), kind)
				assert.Empty(t, facts.Open, kind)
				for _, group := range facts.Spanning {
					ranks = append(ranks, group.Ranks...)
				}
			}
			slices.Sort(ranks)
			assert.Equal(t, test.ranks, slices.Compact(ranks))
		})
	}
}

func TestGroupsAreDescribed(t *testing.T) {
	groups := fold(t, placed("ABABBBBB"), engineOf("ray", 4, 1, 1, 2)).Groups
	assert.Equal(t, &GroupKind{
		Size: 4, Count: 2, Local: 1,
		Spanning: []GroupFacts{{
			Ranks: []int64{0, 1, 2, 3}, Replica: 0, Nodes: []string{"A", "B"}, Placed: "ranks 0, 2 on A, ranks 1, 3 on B",
		}},
		Open: []GroupFacts{},
	}, groups.TP)
	assert.Equal(t, &GroupKind{Size: 1, Count: 8, Local: 8, Spanning: []GroupFacts{}, Open: []GroupFacts{}}, groups.PP)
	assert.Nil(t, groups.DP, "nobody needs it")

	groups = fold(t, placed("AAAABBAB"), engineOf("ray", 4, 1, 1, 2)).Groups
	require.Len(t, groups.TP.Spanning, 1)
	assert.Equal(t, int64(1), groups.TP.Spanning[0].Replica)
	assert.Equal(t, []string{"B", "A"}, groups.TP.Spanning[0].Nodes, "in rank order")
	assert.Equal(t, "ranks 4-5, 7 on B, rank 6 on A", groups.TP.Spanning[0].Placed)
}

func TestNeededKinds(t *testing.T) {
	engine := engineOf("ray", 2, 2, 1, 2).with(func(e *Engine) { e.DecodeContext = 2 })
	needs := Needs{DCP: true, DP: true, EP: true, Workers: true}
	facts := fold(t, placed("AABBAABB"), engine, FoldOptions{Stage: StageLaunch, Needs: needs})
	require.NotNil(t, facts.Groups.DCP)
	assert.Equal(t, []int64{0, 2}, facts.Groups.DCP.Spanning[0].Ranks, "c is fastest")
	assert.Equal(t, int64(4), facts.Groups.DP.Local)
	require.Len(t, facts.Groups.EP.Spanning, 1)
	assert.Equal(t, []int64{0, 1, 2, 3, 4, 5, 6, 7}, facts.Groups.EP.Spanning[0].Ranks)
	assert.Len(t, facts.Workers, 8)
	assert.Equal(t, WorkerFact{Rank: 2, Node: "B", Domain: 1}, facts.Workers[2])

	engine.DecodeContext = 3
	facts = fold(t, placed("AABBAABB"), engine, FoldOptions{Stage: StageLaunch, Needs: needs})
	assert.Nil(t, facts.Groups.DCP, "3 does not divide the grid, which parallel.config reports")
	engine.Unresolved = []Unresolved{{Setting: SettingDecodeContext}}
	facts = fold(t, placed("AABBAABB"), engine, FoldOptions{Stage: StageLaunch, Needs: needs})
	assert.Nil(t, facts.Groups.DCP)
	assert.NotNil(t, facts.Groups.TP, "the grid does not depend on it")
}

func TestOpenGroupsNameWhatIsMissing(t *testing.T) {
	for _, test := range []struct {
		name    string
		nodes   []v1.Node
		stage   string
		missing []string
	}{
		{
			"one boot id only",
			[]v1.Node{fullNode("A", "boot-1", "0:27"), bareNode("B")},
			StageLaunch,
			[]string{"boot_id and shm.device of node B"},
		},
		{
			"no device",
			[]v1.Node{fullNode("A", "boot-1", "0:27"), {ID: "B", BootID: "boot-1"}},
			StageLaunch,
			[]string{"shm.device of node B"},
		},
		{
			"two containers with a host's /dev/shm",
			[]v1.Node{hostNode("A"), hostNode("B")},
			StageLaunch,
			[]string{"boot_id and shm.device of node A", "boot_id and shm.device of node B"},
		},
		{
			"unread facts at registration",
			[]v1.Node{fullNode("A", "", "0:27"), fullNode("B", "boot-1", "0:27")},
			StageRegistration,
			[]string{"boot_id of node A"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			launch := placed("AB")
			launch.Nodes = test.nodes
			facts := fold(t, launch, engineOf("ray", 2, 1, 1, 1), FoldOptions{Stage: test.stage})
			assert.Empty(t, facts.Groups.TP.Spanning)
			require.Len(t, facts.Groups.TP.Open, 1)
			assert.Equal(t, "rank 0 on A, rank 1 on B", facts.Groups.TP.Open[0].Placed)
			assert.Equal(t, test.missing, facts.Groups.TP.Open[0].Missing)
			assert.Empty(t, facts.Replicas.Spanning, "nothing is known to span")
		})
	}
}

// A rank without a node opens its own groups, and only where the others are not apart already.
func TestRanksWithoutNode(t *testing.T) {
	facts := fold(t, placed("AA.AAABA"), engineOf("ray", 4, 1, 2, 1))
	assert.Equal(t, []string{"pp[2 6]", "tp[0 1 2 3]"}, openOf(facts.Groups))
	assert.Equal(t, []string{"tp[4 5 6 7]"}, spanningOf(facts.Groups))
	open := facts.Groups.TP.Open[0]
	assert.Equal(t, "ranks 0-1, 3 on A, rank 2 on no known node", open.Placed)
	assert.Equal(t, []string{"node of rank 2"}, open.Missing)

	facts = fold(t, placed("AB.A"), engineOf("ray", 4, 1, 1, 1))
	assert.Equal(t, []string{"tp[0 1 2 3]"}, spanningOf(facts.Groups), "0 and 1 are apart wherever 2 is")
	assert.Empty(t, openOf(facts.Groups))

	facts = fold(t, placed("..AA"), engineOf("ray", 2, 1, 2, 1))
	require.Len(t, facts.Groups.TP.Open, 1)
	assert.Equal(t, "ranks 0-1 on no known node", facts.Groups.TP.Open[0].Placed)
	assert.Equal(t, []string{"node of ranks 0-1"}, facts.Groups.TP.Open[0].Missing)
	assert.Empty(t, facts.Groups.TP.Open[0].Nodes)
}

func openOf(g *Groups) []string {
	list := []string{}
	for kind, groups := range kindsOf(g) {
		for _, group := range groups.Open {
			list = append(list, kind+fmt.Sprint(group.Ranks))
		}
	}
	slices.Sort(list)
	return list
}

func TestPlacedIsBounded(t *testing.T) {
	launch := placed("ABCDEFGHIJKL")
	text := fold(t, launch, engineOf("ray", 12, 1, 1, 1)).Groups.TP.Spanning[0].Placed
	assert.True(t, strings.HasPrefix(text, "rank 0 on A, rank 1 on B, "), text)
	assert.True(t, strings.HasSuffix(text, "rank 7 on H, the rest on 4 more nodes"), text)
}

// An engine shares one memory domain exactly when each of its TP, PP and PCP groups does: for every grid up to 64 ranks, with
// random placements, most of them with few outliers, because one outlier is the hardest to see.
func TestEngineIsLocalExactlyWhenItsGroupsAre(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for world := int64(1); world <= 64; world++ {
		for tensor := int64(1); tensor <= world; tensor++ {
			for prefill := int64(1); tensor*prefill <= world; prefill++ {
				if world%(tensor*prefill) != 0 {
					continue
				}
				engine := engineOf("ray", tensor, prefill, world/(tensor*prefill), 1)
				for outliers := range 4 {
					ranks := scatter(random, int(world), outliers)
					groups := fold(t, placed(ranks), engine).Groups
					local := groups.TP.Local == groups.TP.Count && groups.PP.Local == groups.PP.Count &&
						groups.PCP.Local == groups.PCP.Count
					if oneHost := strings.Count(ranks, ranks[:1]) == len(ranks); oneHost != local {
						t.Fatalf("TP%d PCP%d PP%d placed %s: on one host %t, groups local %t", tensor, prefill, engine.Pipeline, ranks,
							oneHost, local)
					}
				}
			}
		}
	}
}

// scatter places all ranks on node A but some, at random, on B or C.
func scatter(random *rand.Rand, world, outliers int) string {
	ranks := []byte(strings.Repeat("A", world))
	for range outliers {
		ranks[random.IntN(world)] = "ABC"[random.IntN(3)]
	}
	return string(ranks)
}
