package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/e2e/worker"
	"github.com/tiergate/tiergate/internal/hosttest"
)

// deadline is every rank's: the shortest in which report phase and probe phase, 5 s each, both end before it, so that it is
// the service that says who was missing, in the same words to all.
const deadline = 10 * time.Second

// tiers is a KV transfer configuration that needs the gate.
const tiers = `{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {
	"spec_name": "TieringOffloadingSpec", "cpu_bytes_to_use": 8388608, "secondary_tiers": [{"type": "fs", "root_dir": "/mnt/kv"}]}}`

// cell is one engine in which one thing goes wrong at one step of one rank.
type cell struct {
	*site
	name  string
	world int
	step  step
	// victim is the rank that the fault happens to; held is the one that waits for it to happen, after it logged holds.
	victim, held int
	holds        string

	// What follows has defaults that a fault may change before the engine starts.

	service *service
	// program is the worker, env what is in its environment beside the spec.
	program string
	env     []string
	// url is where the ranks believe the service to be.
	url string
	// hosts and users are by rank; faults are what processes do to themselves.
	hosts  []*hosttest.Host
	users  []uint32
	faults [][]worker.Fault

	workers []*hosttest.Process
	markers []string
	// before is the attempt as it was before the fault; harmed is when that happened.
	before *v1.AttemptView
	harmed time.Time
}

func (s *site) cell(t testing.TB, name string, world int, at step, victim int) *cell {
	t.Helper()
	c := &cell{
		site: s, name: name, world: world, step: at, victim: victim, held: victim, service: s.service, url: s.service.url,
		program: s.worker, env: os.Environ(),
		hosts: slices.Repeat([]*hosttest.Host{s.gpu}, world), users: make([]uint32, world), faults: make([][]worker.Fault, world),
	}
	c.holds = at.message
	if at.holds != "" {
		c.held, c.holds = (victim+1)%world, at.holds
	}
	c.faults[c.held] = []worker.Fault{{After: c.holds, Do: worker.Block}}
	return c
}

// start starts all ranks.
func (c *cell) start(t testing.TB) {
	t.Helper()
	dir, err := os.MkdirTemp(files, "cell-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o777)) // of whatever user a rank is
	sizes := worlds[c.world]
	for rank := range c.world {
		marker := filepath.Join(dir, fmt.Sprintf("allocated-%d", rank))
		spec, err := json.Marshal(worker.Spec{
			URL: c.url, Rank: int64(rank), Marker: marker, DeadlineMS: deadline.Milliseconds(), Faults: c.faults[rank],
			Engine: v1.Engine{
				ID: c.name, Version: "0.33.0", Executor: "ray", KVTransfer: json.RawMessage(tiers),
				Parallel: &v1.Parallel{Tensor: &sizes[0], Pipeline: &sizes[1], PrefillContext: &sizes[2]},
			},
		})
		require.NoError(t, err)
		c.markers = append(c.markers, marker)
		c.workers = append(c.workers, c.hosts[rank].Start(t, hosttest.Command{
			Path: c.program, Env: append(slices.Clone(c.env), worker.Variable+"="+string(spec)), UID: c.users[rank],
		}))
	}
}

// reach waits until the victim is at its step, and everybody else as far as they can come meanwhile.
func (c *cell) reach(ctx context.Context, t testing.TB) {
	t.Helper()
	c.workers[c.held].Stderr.Await(ctx, t, fmt.Sprintf(`"msg":%q`, c.holds)) // before that, it cannot be released
	await(ctx, t, func() (bool, any) {
		c.before = c.service.attempt(ctx, c.name)
		return c.step.reached(c.before, int64(c.held)), c.before
	})
	if c.step.phase == v1.PhaseEnded {
		for rank := range c.others() {
			c.workers[rank].Wait(ctx, t)
		}
	}
}

// others are the ranks that the fault does not happen to.
func (c *cell) others() map[int]*hosttest.Process {
	others := map[int]*hosttest.Process{}
	for rank, p := range c.workers {
		if rank != c.victim {
			others[rank] = p
		}
	}
	return others
}

// release lets whoever is held go on.
func (c *cell) release() {
	select {
	case <-c.workers[c.held].Ended():
	default:
		_ = syscall.Kill(c.workers[c.held].PID(), syscall.SIGUSR1)
	}
}

// allocated tells whether the callback of a rank ran.
func (c *cell) allocated(rank int) bool {
	_, err := os.Lstat(c.markers[rank])
	return err == nil
}
