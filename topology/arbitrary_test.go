package topology

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// drawLaunch draws a launch of any shape, most of them wrong.
func drawLaunch(t *rapid.T) *v1.Launch {
	launch := &v1.Launch{}
	ids := []string{"node-0", "node-1", "node-2", "gpu-a"}
	if rapid.Bool().Draw(t, "lists nodes") {
		for _, id := range ids[:rapid.IntRange(0, len(ids)).Draw(t, "nodes")] {
			n := drawNode(t, id)
			n.Memory = &v1.Memory{LimitBytes: pointer(rapid.Int64().Draw(t, "limit"))}
			launch.Nodes = append(launch.Nodes, n)
		}
	}
	rank := rapid.OneOf(rapid.Int64Range(0, 8), rapid.SampledFrom([]int64{-1, math.MaxInt64, math.MinInt64}))
	kind := rapid.SampledFrom([]string{TP, PP, PCP, DCP, DP, EP, "world"})
	for range rapid.IntRange(0, 9).Draw(t, "workers") {
		w := v1.Worker{
			Rank: rank.Draw(t, "rank"), Node: rapid.SampledFrom(ids).Draw(t, "node"),
			Version:   rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "version"),
			WorldSize: rank.Draw(t, "world size"),
			Groups:    rapid.MapOfN(kind, rapid.SliceOfN(rank, 0, 3), 0, 2).Draw(t, "groups"),
		}
		if rapid.Bool().Draw(t, "has a configuration") {
			w.Config = &v1.Configuration{KVTransfer: json.RawMessage(rapid.SampledFrom([]string{
				"", "{", "[]", `{"a":[1]}`, `{"a":{"b":null},"engine_id":1}`, `{"kv_connector_extra_config":{"connectors":[1]}}`,
			}).Draw(t, "kv transfer"))}
		}
		launch.Workers = append(launch.Workers, w)
	}
	if rapid.Bool().Draw(t, "names the core") {
		launch.Core = &v1.Core{Node: rapid.SampledFrom(ids).Draw(t, "core")}
	}
	return launch
}

func drawEngine(t *rapid.T) *Engine {
	size := rapid.OneOf(rapid.Int64Range(1, 4), rapid.SampledFrom([]int64{0, -1, 1 << 31, math.MaxInt64, math.MinInt64}))
	engine := engineOf(rapid.SampledFrom([]string{"mp", "uni", "ray", "external_launcher", ""}).Draw(t, "executor"),
		size.Draw(t, "tp"), size.Draw(t, "pcp"), size.Draw(t, "pp"), size.Draw(t, "dp"))
	engine.DecodeContext, engine.Nnodes = size.Draw(t, "dcp"), size.Draw(t, "nnodes")
	if rapid.Bool().Draw(t, "has local replicas") {
		engine.DataLocal = pointer(size.Draw(t, "local replicas"))
	}
	engine.with(offload(size.Draw(t, "region"), size.Draw(t, "region")))
	if rapid.Bool().Draw(t, "has unresolved settings") {
		engine.Unresolved = []Unresolved{{Setting: rapid.SampledFrom([]string{
			SettingTensor, SettingData, SettingDataLocal, SettingExecutor, SettingNnodes, SettingTransfer, SettingDataRank,
		}).Draw(t, "setting"), Reason: "unset"}}
	}
	return engine
}

// Whatever comes in, there are facts that add up or an input error; never a panic, and never a huge allocation.
func TestFoldOfArbitraryLaunches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		launch, engine := drawLaunch(t), drawEngine(t)
		stage := rapid.SampledFrom([]string{StageLaunch, StageRegistration}).Draw(t, "stage")
		facts, err := Fold(launch, engine, FoldOptions{
			Stage: stage,
			Needs: Needs{Workers: true, DCP: true, DP: true, EP: true},
		})
		if err != nil {
			var input *InputError
			require.ErrorAs(t, err, &input)
			return
		}
		_, err = json.Marshal(facts)
		require.NoError(t, err)
		require.Equal(t, facts.Placement.Known, facts.Placement.Missing == nil, "what is not known is missing")
		require.Equal(t, facts.Placement.Source == SourceNone, facts.Groups == nil)
		if facts.Groups == nil {
			return
		}
		var ranks int64
		for _, domain := range facts.Domains {
			ranks += *domain.Ranks
		}
		world := *facts.Engine.WorldSize
		if stage == StageLaunch {
			world *= engine.Data
		}
		require.Equal(t, facts.Placement.Known, ranks == world, "every rank is in one domain")
		for kind, groups := range kindsOf(facts.Groups) {
			require.Equal(t, groups.Count, groups.Local+int64(len(groups.Spanning)+len(groups.Open)), kind)
			require.Equal(t, world, groups.Count*groups.Size, kind)
			for _, group := range groups.Open {
				require.NotEmpty(t, group.Missing, "an open group says what would close it")
			}
		}
	})
}

// meaning is facts without what the order of nodes in a launch rightly changes: the order of domains and of node names.
func meaning(t require.TestingT, facts *Facts) string {
	for i := range facts.Domains {
		slices.Sort(facts.Domains[i].Nodes)
	}
	slices.SortFunc(facts.Domains, func(a, b Domain) int { return strings.Compare(a.Nodes[0], b.Nodes[0]) })
	for i, sentence := range facts.Placement.Assumed {
		_, facts.Placement.Assumed[i], _ = strings.Cut(sentence, ":")
	}
	text, err := json.MarshalIndent(facts, "", " ")
	require.NoError(t, err)
	return string(text)
}

func TestOrderOfNodesAndWorkersDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		launch := &v1.Launch{Nodes: drawNodes(t, 5)}
		engine := engineOf(rapid.SampledFrom([]string{"mp", "ray"}).Draw(t, "executor"), 2, 1, 2, 2).with(offload(1000))
		for rank := range int64(8) {
			for range rapid.SampledFrom([]int{1, 1, 1, 0, 2}).Draw(t, "claims") {
				launch.Workers = append(launch.Workers, v1.Worker{
					Rank: rank, Node: launch.Nodes[rapid.IntRange(0, len(launch.Nodes)-1).Draw(t, "node")].ID,
					Version: fmt.Sprint(rank % 3), Groups: map[string][]int64{TP: {rank, rank + 1}, PP: {rank}},
				})
			}
		}
		opts := FoldOptions{Stage: rapid.SampledFrom([]string{StageLaunch, StageRegistration}).Draw(t, "stage")}
		want := meaning(t, fold(t, launch, engine, opts))
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		shuffled := &v1.Launch{Nodes: slices.Clone(launch.Nodes), Workers: slices.Clone(launch.Workers)}
		random.Shuffle(len(shuffled.Nodes), func(i, j int) {
			shuffled.Nodes[i], shuffled.Nodes[j] = shuffled.Nodes[j], shuffled.Nodes[i]
		})
		random.Shuffle(len(shuffled.Workers), func(i, j int) {
			shuffled.Workers[i], shuffled.Workers[j] = shuffled.Workers[j], shuffled.Workers[i]
		})
		require.Equal(t, want, meaning(t, fold(t, shuffled, engine, opts)))
	})
}
