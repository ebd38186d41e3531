package rendezvous_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous"
	"github.com/tiergate/tiergate/internal/rendezvous/journal"
	"github.com/tiergate/tiergate/internal/rendezvous/journal/natstest"
)

const (
	clusterRanks    = 4
	clusterDeadline = time.Minute
)

// fleet is a service on each node of a NATS cluster.
type fleet struct {
	*testing.T
	nats     *natstest.Cluster
	mu       sync.Mutex
	services []*rendezvous.Service
	stops    []func()
}

func newFleet(t *testing.T) *fleet {
	if testing.Short() {
		t.Skip("a cluster takes its time to elect leaders")
	}
	f := &fleet{T: t, nats: natstest.NewCluster(t, 3), services: make([]*rendezvous.Service, 3), stops: make([]func(), 3)}
	for i := range f.services {
		f.start(i)
	}
	t.Cleanup(func() {
		for _, stop := range f.stops {
			stop()
		}
	})
	return f
}

// start runs the service of a node, which knows the other nodes too, as clients do.
func (f *fleet) start(i int) {
	f.Helper()
	j, err := journal.Open(f.Context(), journal.Options{URL: f.nats.URLs(), Timeout: time.Minute})
	require.NoError(f, err)
	s, err := rendezvous.New(rendezvous.Options{Journal: j, Decide: probeAll})
	require.NoError(f, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.services[i] = s
	f.stops[i] = func() {
		cancel()
		assert.NoError(f, <-done)
		j.Close()
	}
}

// restart replaces the service of a node.
func (f *fleet) restart(i int) {
	f.mu.Lock()
	stop := f.stops[i]
	f.mu.Unlock()
	stop()
	f.start(i)
}

func (f *fleet) service(i int) *rendezvous.Service {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.services[i%len(f.services)]
}

// probeAll is a policy that has one TP group proved.
func probeAll(_ context.Context, l *v1.Launch) ([]byte, error) {
	group := v1.Group{Kind: "tp"}
	for rank := range l.Workers {
		group.Ranks = append(group.Ranks, int64(rank))
	}
	return json.Marshal(v1.Verdict{Outcome: v1.Unknown, Probe: []v1.Group{group}, Checks: []v1.CheckResult{
		{ID: "tiering.node_local", Outcome: v1.Unknown, Enforcement: v1.EnforceDeny, Violations: []v1.Violation{}},
	}})
}

func nonce(engine string) []byte { sum := sha256.Sum256([]byte(engine)); return sum[:] }

// register brings one rank through, asking the services in turn.
func (f *fleet) register(ctx context.Context, engine string, rank int64) (*v1.Admission, error) {
	size := int64(clusterRanks)
	key := rendezvous.Key{Engine: engine}
	r := &v1.Report{
		Protocol: v1.Protocol, Incarnation: fmt.Sprintf("%032x", nonce(fmt.Sprint(engine, rank))[:16]), WorldSize: size,
		DeadlineMS: clusterDeadline.Milliseconds(), Configuration: v1.Configuration{Parallel: &v1.Parallel{Tensor: &size}},
		Facts: v1.NodeFacts{Node: "gpu-a"},
	}
	if sum := sha256.Sum256(nonce(engine)); rank == 0 {
		r.Segment = &v1.Segment{Name: "tiergate-probe-0", SHA256: hex.EncodeToString(sum[:])}
	}
	for turn := int(rank); ; turn++ {
		p, err := f.service(turn).Report(ctx, key, rank, r, time.Second)
		if err == nil && p.Verdict != nil && p.Admission == nil {
			p, err = f.service(turn+1).Probe(ctx, key, p.Attempt, rank, &v1.Probe{
				AttemptID: p.AttemptID, Incarnation: r.Incarnation,
				Answers: []v1.ProbeAnswer{{Kind: "tp", Outcome: v1.Shared, Nonce: hex.EncodeToString(nonce(engine))}},
			}, time.Second)
		}
		var ended *rendezvous.EndedError
		switch {
		case err == nil && p.Admission != nil:
			return p.Admission, nil
		case errors.As(err, &ended), ctx.Err() != nil:
			return nil, errors.Join(err, ctx.Err())
		}
		select {
		case <-time.After(20 * time.Millisecond): // the pace of a client that asks again
		case <-ctx.Done():
		}
	}
}

// TestClusterAdmits: whatever happens to one node or one service of three while an engine comes up, its ranks, which ask any
// of the services, get one admission of one attempt, in time.
func TestClusterAdmits(t *testing.T) {
	f := newFleet(t)
	stream := "KV_" + journal.DefaultBucket
	for name, trouble := range map[string]func(){
		"nothing":              func() {},
		"a service restarts":   func() { f.restart(1) },
		"the leader is killed": func() { i := f.nats.Leader(stream); f.nats.Kill(i); f.nats.Restart(i) },
		"a node is cut off":    func() { i := f.nats.Leader(stream); f.nats.Partition(i); f.nats.Leader(stream, i); f.nats.Heal(i) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), clusterDeadline)
			defer cancel()
			admissions := make([]*v1.Admission, clusterRanks)
			var ranks sync.WaitGroup
			half := make(chan struct{})
			for rank := range admissions {
				ranks.Go(func() {
					if rank == clusterRanks-1 {
						<-half // the last rank comes when the trouble is over
					}
					a, err := f.register(ctx, name, int64(rank))
					assert.NoError(t, err, "rank %d", rank)
					admissions[rank] = a
				})
			}
			require.Eventually(t, func() bool { return f.reported(name) == clusterRanks-1 }, clusterDeadline, 10*time.Millisecond)
			trouble()
			close(half)
			ranks.Wait()
			for rank, a := range admissions {
				require.NotNil(t, a, "rank %d", rank)
				assert.Equal(t, v1.Allow, a.Outcome)
				assert.Equal(t, admissions[0].AttemptID, a.AttemptID, "one attempt, which nothing may lose")
			}
		})
	}
}

// reported counts the ranks of an engine that any service knows of.
func (f *fleet) reported(engine string) (most int) {
	for i := range f.services {
		if view, err := f.service(i).Engine(rendezvous.Key{Engine: engine}); err == nil {
			most = max(most, len(view.Attempts[0].Ranks))
		}
	}
	return most
}
