package topology

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The whole facts document of one launch per kind of placement, as policies see it.
func TestFoldGolden(t *testing.T) {
	all := FoldOptions{Stage: StageLaunch, Now: "2026-12-01T00:00:00Z", Needs: Needs{Workers: true, DCP: true, DP: true, EP: true}}
	for _, test := range []struct {
		name   string
		launch *v1.Launch
		engine *Engine
		opts   FoldOptions
	}{
		{"uneven", unevenLaunch(), unevenEngine(), all},
		{
			"blocks", &v1.Launch{Nodes: letters("AB")}, engineOf("mp", 4, 1, 1, 1).with(offload(1000)).with(func(e *Engine) { e.Nnodes = 2 }),
			FoldOptions{Stage: StageLaunch, Now: "2026-12-01T00:00:00Z"},
		},
		{
			"ray", &v1.Launch{Nodes: letters("AB")}, engineOf("ray", 4, 1, 1, 1).with(func(e *Engine) {
				e.Unresolved = []Unresolved{{SettingTransfer, "$KV_CONFIG is not set"}, {SettingNodeRank, "$RANK is not set"}}
			}),
			FoldOptions{Stage: StageLaunch, Now: "2026-12-01T00:00:00Z"},
		},
		{"registration", unevenLaunch(), unevenEngine(), FoldOptions{Stage: StageRegistration, Now: "2026-12-01T00:00:00Z"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := json.MarshalIndent(fold(t, test.launch, test.engine, test.opts), "", "  ")
			require.NoError(t, err)
			path := filepath.Join("testdata", "facts", test.name+".json")
			if *update {
				require.NoError(t, os.WriteFile(path, append(got, '\n'), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(got)+"\n")
		})
	}
}

// unevenLaunch is vLLM #62930's uneven example, with a second replica on a node that says little.
func unevenLaunch() *v1.Launch {
	launch := placed("AAABCCCC")
	launch.Nodes[0].Shm.TotalBytes, launch.Nodes[0].Shm.FreeBytes = pointer(4096), pointer(2048)
	launch.Nodes[0].Shm.StaleRegions = []v1.StaleRegion{{Name: "vllm_offload_old.mmap", Bytes: 2048}}
	launch.Nodes[0].Memory = &v1.Memory{LimitBytes: pointer(8192)}
	launch.Nodes[2].Shm = nil
	for i := range launch.Workers {
		launch.Workers[i].Version = "0.33.0"
	}
	launch.Workers[3].Version = "0.32.0"
	launch.Workers[0].Config = &v1.Configuration{KVTransfer: json.RawMessage(`{"kv_role":"kv_both"}`)}
	launch.Workers[1].Config = &v1.Configuration{KVTransfer: json.RawMessage(`{"kv_role":"kv_producer"}`)}
	launch.Workers[4].Groups = map[string][]int64{TP: {4, 6}}
	launch.Core = &v1.Core{Node: "A"}
	return launch
}

func unevenEngine() *Engine {
	return engineOf("ray", 2, 1, 2, 2).with(offload(1024)).with(func(e *Engine) {
		e.ID, e.Version, e.ExecutorGiven = "engine-a", "0.33.0", true
		e.Transfer.Connectors[0].Tiered = true
		e.Transfer.Connectors[0].Path, e.Transfer.Connectors[0].Name = "kv_transfer", "OffloadingConnector"
		e.Transfer.Connectors[0].Spec = "TieringOffloadingSpec"
		e.Transfer.Connectors[0].Config = json.RawMessage(`{"kv_role":"kv_both"}`)
		e.Refusals = []Refusal{{Check: "offload.config", Setting: "--x", Value: "1", Reason: "of no use", Fix: "remove it"}}
	})
}

func TestFoldRefusesAnUnknownStage(t *testing.T) {
	_, err := Fold(placed("A"), engineOf("mp", 1, 1, 1, 1), FoldOptions{Stage: "start"})
	assert.EqualError(t, err, `stage "start": allowed are launch and registration`)
}

func TestEngineFactsLeaveOutWhatIsUnresolved(t *testing.T) {
	engine := engineOf("mp", 2, 2, 2, 2).with(func(e *Engine) {
		e.DataLocal, e.DataRank, e.DataStartRank, e.DataBackend = pointer(1), pointer(0), pointer(0), "ray"
	})
	present := func(e *Engine) map[string]bool {
		f := fold(t, &v1.Launch{}, e)
		return map[string]bool{
			SettingTensor: f.Engine.Parallel.Tensor != nil, SettingPipeline: f.Engine.Parallel.Pipeline != nil,
			SettingPrefillContext: f.Engine.Parallel.PrefillContext != nil, SettingDecodeContext: f.Engine.Parallel.DecodeContext != nil,
			SettingData: f.Engine.Parallel.Data != nil, SettingDataLocal: f.Engine.Parallel.DataLocal != nil,
			SettingExecutor: f.Engine.Executor != "", SettingNnodes: f.Engine.Nnodes != nil, SettingTransfer: f.Transfer != nil,
			SettingNodeRank: f.Engine.NodeRank != nil, SettingDataRank: f.Engine.DataRank != nil,
			SettingDataStartRank: f.Engine.DataStartRank != nil,
		}
	}
	for setting, known := range present(engine) {
		assert.True(t, known, setting)
	}
	for setting := range present(engine) {
		engine.Unresolved = []Unresolved{{Setting: setting, Reason: "$X is not set"}}
		for other, known := range present(engine) {
			assert.Equal(t, other != setting, known, "%s while %s is unresolved", other, setting)
		}
		assert.Equal(t, engine.Unresolved, fold(t, &v1.Launch{}, engine).Engine.Unresolved)
	}
	assert.Equal(t, "ray", fold(t, &v1.Launch{}, engine).Engine.DataBackend)
	assert.Equal(t, "mp", fold(t, &v1.Launch{}, engineOf("mp", 1, 1, 1, 1)).Engine.DataBackend)
}

func TestTransferFacts(t *testing.T) {
	engine := engineOf("mp", 1, 1, 1, 1)
	assert.Equal(t, &Transferred{}, fold(t, &v1.Launch{}, engine).Transfer, "none is a fact too")
	engine.with(offload(1, 2))
	assert.False(t, fold(t, &v1.Launch{}, engine).Transfer.Tiered)
	engine.Transfer.Connectors[1].Tiered = true
	assert.True(t, fold(t, &v1.Launch{}, engine).Transfer.Tiered, "any connector's tiers count")
}

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
			Version: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "version"),
			Groups:  rapid.MapOfN(kind, rapid.SliceOfN(rank, 0, 3), 0, 2).Draw(t, "groups"),
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
		facts, err := Fold(launch, engine, FoldOptions{
			Stage: rapid.SampledFrom([]string{StageLaunch, StageRegistration}).Draw(t, "stage"),
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
		world := *facts.Engine.WorldSize * engine.Data
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

// The allocations of a fold must not grow with the number of workers.
func TestFoldAllocates(t *testing.T) {
	for workers, most := range map[int64]float64{8: 40, 4096: 100} {
		launch, engine := uniformLaunch(workers, 8)
		allocations := testing.AllocsPerRun(10, func() {
			_, err := Fold(launch, engine, FoldOptions{Stage: StageLaunch})
			require.NoError(t, err)
		})
		assert.LessOrEqual(t, allocations, most, "%d workers", workers)
	}
}
