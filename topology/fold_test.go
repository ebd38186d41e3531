package topology

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		{
			"registration", reportedLaunch(), unevenEngine(), FoldOptions{
				Stage: StageRegistration, Now: "2026-12-01T00:00:00Z", Needs: Needs{Workers: true, DCP: true, DP: true, EP: true},
			},
		},
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

// reportedLaunch is what the workers of one replica of unevenEngine, which has two, report of themselves; the last one could
// not read its device and was told another world size.
func reportedLaunch() *v1.Launch {
	launch := placed("AAAB")
	launch.Nodes[1].Shm.Device = ""
	for i := range launch.Workers {
		w := &launch.Workers[i]
		first, config := w.Rank/2*2, &v1.Configuration{Parallel: &v1.Parallel{Tensor: pointer(2), Pipeline: pointer(2), Data: pointer(2)}}
		w.Groups = map[string][]int64{TP: {first, first + 1}, PP: {w.Rank % 2, w.Rank%2 + 2}, DP: {w.Rank, w.Rank + 4}, EP: {0, 1, 4, 5}}
		w.WorldSize, w.Config = 4, config
	}
	launch.Workers[3].WorldSize = 8
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
