package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/e2e/worker"
	"github.com/tiergate/tiergate/internal/hosttest"
)

// deadline is for engines whose ranks all come: it is never reached.
const deadline = 30 * time.Second

// tiers is a KV transfer configuration with a secondary tier, and noTiers one that only uses CPU memory.
const (
	tiers = `{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {
		"spec_name": "TieringOffloadingSpec", "cpu_bytes_to_use": 8388608, "secondary_tiers": [{"type": "fs", "root_dir": "/mnt/kv"}]}}`
	noTiers = `{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {
		"cpu_bytes_to_use": 8388608}}`
)

// grid is the sizes tensor, pipeline and prefill context.
type grid [3]int64

func (g grid) world() int64 { return g[0] * g[1] * g[2] }

// engine is one to start: a rank on each place, in the order of ranks.
type engine struct {
	name      string
	grid      grid
	placement string
	transfer  string
	// replicas is the number of data-parallel replicas; their ranks follow each other in the placement.
	replicas int64
}

func (e *engine) config() v1.Engine {
	data := max(e.replicas, 1)
	return v1.Engine{
		ID: e.name, Version: "0.33.0", Executor: "ray", KVTransfer: json.RawMessage(e.transfer),
		Parallel: &v1.Parallel{Tensor: &e.grid[0], Pipeline: &e.grid[1], PrefillContext: &e.grid[2], Data: &data},
	}
}

// named is a copy with that name, made fit for the wire, and with tiers unless it says otherwise.
func (e engine) named(name string) *engine {
	e.name = strings.NewReplacer(" ", "-", ",", "").Replace(name)
	if e.transfer == "" {
		e.transfer = tiers
	}
	return &e
}

// keys are the names of the engine's replicas on the wire.
func (e *engine) keys() []string {
	if e.replicas < 2 {
		return []string{e.name}
	}
	var keys []string
	for d := range e.replicas {
		keys = append(keys, fmt.Sprintf("%s.dp%d", e.name, d))
	}
	return keys
}

// started is an engine whose workers run, or have ended.
type started struct {
	engine  *engine
	workers []*hosttest.Process
	markers []string
}

// start starts all workers of an engine. Faults are by rank.
func (s *site) start(t testing.TB, e *engine, url string, deadline time.Duration, faults map[int][]worker.Fault) *started {
	t.Helper()
	dir := t.TempDir()
	world := int(e.grid.world())
	require.Len(t, e.placement, world*int(max(e.replicas, 1)), "a place for each rank")
	run := &started{engine: e}
	for i, letter := range e.placement {
		marker := filepath.Join(dir, fmt.Sprintf("allocated-%d", i))
		spec, err := json.Marshal(worker.Spec{
			URL: url, Rank: int64(i % world), DataParallelRank: int64(i / world), Engine: e.config(), Marker: marker,
			DeadlineMS: deadline.Milliseconds(), Faults: faults[i],
		})
		require.NoError(t, err)
		run.markers = append(run.markers, marker)
		run.workers = append(run.workers, s.places[letter].host.Start(t, hosttest.Command{
			Path: s.worker, Env: append(os.Environ(), worker.Variable+"="+string(spec)),
		}))
	}
	return run
}

// begin starts an engine that comes to its end by itself, with the context to wait for that.
func (s *site) begin(t testing.TB, url string, e *engine) (*started, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTime+deadline)
	t.Cleanup(cancel)
	return s.start(t, e, url, deadline, nil), ctx
}

// results waits for all workers and returns what each came to, by rank.
func (r *started) results(ctx context.Context, t testing.TB) []worker.Result {
	t.Helper()
	results := make([]worker.Result, len(r.workers))
	for i, p := range r.workers {
		require.Zero(t, p.Wait(ctx, t), "worker %d: %s", i, p.Stderr.String())
		require.NoError(t, json.Unmarshal([]byte(p.Stdout.String()), &results[i]), "worker %d: %s", i, p.Stdout.String())
	}
	return results
}

// allocated lists the workers whose callback ran.
func (r *started) allocated() []int {
	list := []int{}
	for i, marker := range r.markers {
		if _, err := os.Lstat(marker); err == nil {
			list = append(list, i)
		}
	}
	return list
}
