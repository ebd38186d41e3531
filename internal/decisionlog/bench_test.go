package decisionlog

import (
	"testing"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// BenchmarkRecord is what a record of an engine of eight workers costs in the background.
func BenchmarkRecord(b *testing.B) {
	size := int64(8)
	launch := &v1.Launch{
		Engine: v1.Engine{
			ID: "engine-a", Version: "0.33.0", Parallel: &v1.Parallel{Tensor: &size}, Executor: "mp",
			KVTransfer: []byte(`{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":{"spec_name":` +
				`"TieringOffloadingSpec","cpu_bytes_to_use":68719476736,"secondary_tiers":[{"type":"fs","root_dir":"/mnt/kv-cache"}]}}`),
		},
		Nodes: []v1.Node{{ID: "gpu-a", BootID: "b", Shm: &v1.Shm{Device: "0:27"}}},
	}
	for rank := range size {
		launch.Workers = append(launch.Workers, v1.Worker{Rank: rank, Node: "gpu-a", Version: "0.33.0"})
	}
	r := &Record{
		DecisionID: "id", Kind: KindValidate, Path: "tiergate/verdict", Now: "2026-12-01T10:00:00Z", Timestamp: time.Now(), Input: launch,
		Result: []byte(`{"outcome":"allow","checks":[{"id":"a.b","outcome":"pass","enforcement":"deny","violations":[]}]}`),
	}
	l := &Log{opts: Options{Mask: func() []string { return nil }, Labels: map[string]string{"app": "tiergate", "version": "v"}}}
	b.ReportAllocs()
	for b.Loop() {
		var out batch
		l.add(&out, queued{r, 0})
	}
}
