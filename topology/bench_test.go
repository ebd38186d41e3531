package topology

import (
	"fmt"
	"testing"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// BenchmarkFold folds launches of TP=8 with a tier, eight workers to a node, and once with a node for each worker.
func BenchmarkFold(b *testing.B) {
	for _, workers := range []int64{8, 64, 512, 4096} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) { benchmarkFold(b, workers, 8) })
	}
	b.Run("4096 nodes", func(b *testing.B) { benchmarkFold(b, 4096, 1) })
}

func benchmarkFold(b *testing.B, workers, perNode int64) {
	launch, engine := uniformLaunch(workers, perNode)
	opts := FoldOptions{Stage: StageLaunch, Now: "2026-12-01T00:00:00Z"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Fold(launch, engine, opts); err != nil {
			b.Fatal(err)
		}
	}
}

// uniformLaunch is TP=8 with pipeline stages for the rest, and so many consecutive ranks on each node.
func uniformLaunch(workers, perNode int64) (*v1.Launch, *Engine) {
	free, limit := int64(1)<<36, int64(1)<<38
	launch := &v1.Launch{}
	for i := range workers / perNode {
		launch.Nodes = append(launch.Nodes, v1.Node{
			ID:     fmt.Sprintf("gpu-%d", i),
			BootID: fmt.Sprintf("5f0c7b3e-8d8a-4c8e-9d61-%012d", i),
			Shm:    &v1.Shm{Device: "0:27", TotalBytes: &free, FreeBytes: &free, StaleRegions: []v1.StaleRegion{}},
			Memory: &v1.Memory{LimitBytes: &limit},
		})
	}
	for rank := range workers {
		launch.Workers = append(launch.Workers, v1.Worker{Rank: rank, Node: launch.Nodes[rank/perNode].ID, Version: "0.33.0"})
	}
	launch.Core = &v1.Core{Node: launch.Nodes[0].ID}
	engine := &Engine{
		Tensor: 8, Pipeline: workers / 8, PrefillContext: 1, DecodeContext: 1, Data: 1, Nnodes: 1, Executor: "ray",
		Transfer: Transfer{Given: true, Connectors: []Connector{{Native: true, Tiered: true, CPUBytes: 1 << 34}}},
	}
	return launch, engine
}
