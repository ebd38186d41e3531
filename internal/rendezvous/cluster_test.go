package rendezvous_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
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

// fleet is a service on each node of a NATS cluster, or one alone with NATS in its process.
type fleet struct {
	*testing.T
	nats     *natstest.Cluster // nil for NATS in the process
	mu       sync.Mutex
	services []*rendezvous.Service
	stops    []func()
}

func newFleet(t *testing.T, nodes int) *fleet {
	f := &fleet{T: t, services: make([]*rendezvous.Service, nodes), stops: make([]func(), nodes)}
	if nodes > 1 {
		if testing.Short() {
			t.Skip("a cluster takes its time to elect leaders")
		}
		f.nats = natstest.NewCluster(t, nodes)
	}
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
	opts := journal.Options{Timeout: time.Minute}
	if f.nats != nil {
		opts.URL = f.nats.URLs()
	}
	j, err := journal.Open(f.Context(), opts)
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
func probeAll(_ context.Context, _ rendezvous.Key, l *v1.Launch) ([]byte, error) {
	group := v1.Group{Kind: "tp"}
	for rank := range l.Workers {
		group.Ranks = append(group.Ranks, int64(rank))
	}
	return json.Marshal(v1.Verdict{Outcome: v1.Unknown, Probe: []v1.Group{group}, Checks: []v1.CheckResult{
		{ID: "tiering.node_local", Outcome: v1.Unknown, Enforcement: v1.EnforceDeny, Violations: []v1.Violation{}},
	}})
}

func nonce(engine string) []byte { sum := sha256.Sum256([]byte(engine)); return sum[:] }

// rank is a worker of an engine.
type rank struct {
	n        int64
	engine   string
	deadline time.Duration
	apart    bool // it does not see the segment of its leader
}

// ending is what a rank's registration came to: what all ranks of the attempt must agree on, and how long it took.
type ending struct {
	attempt, answer string
	took            time.Duration
	err             error
}

// register brings a rank through, asking the services in turn.
func (f *fleet) register(r rank) (got ending) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(f.Context(), r.deadline)
	defer cancel()
	defer func() { got.took = time.Since(start) }()
	caller, report := rendezvous.Caller{Key: rendezvous.Key{Engine: r.engine}}, r.report()
	for turn := int(r.n); ; turn++ {
		p, err := f.service(turn).Report(ctx, caller, r.n, report, time.Second)
		if err == nil && p.Verdict != nil && p.Admission == nil {
			p, err = f.service(turn+1).Probe(ctx, caller, p.Attempt, r.n, r.probe(p.AttemptID), time.Second)
		}
		var ended *rendezvous.EndedError
		switch {
		case err == nil && p.Admission != nil:
			return ending{attempt: p.Admission.AttemptID, answer: p.Admission.Outcome}
		case errors.As(err, &ended):
			return ending{attempt: ended.End.AttemptID, answer: ended.End.Kind + ": " + ended.End.Message}
		case ctx.Err() != nil:
			return ending{err: errors.Join(err, ctx.Err())}
		}
		select {
		case <-time.After(20 * time.Millisecond): // the pace of a client that asks again
		case <-ctx.Done():
		}
	}
}

func (r rank) incarnation() string {
	return fmt.Sprintf("%032x", nonce(fmt.Sprint(r.engine, r.n))[:16])
}

func (r rank) report() *v1.Report {
	size := int64(clusterRanks)
	report := &v1.Report{
		Protocol: v1.Protocol, Incarnation: r.incarnation(), WorldSize: size, DeadlineMS: r.deadline.Milliseconds(),
		Configuration: v1.Configuration{Parallel: &v1.Parallel{Tensor: &size}}, Facts: v1.NodeFacts{Node: "gpu-a"},
	}
	if sum := sha256.Sum256(nonce(r.engine)); r.n == 0 {
		report.Segment = &v1.Segment{Name: "tiergate-probe-0", SHA256: hex.EncodeToString(sum[:])}
	}
	return report
}

func (r rank) probe(attempt string) *v1.Probe {
	answer := v1.ProbeAnswer{Kind: "tp", Outcome: v1.Shared, Nonce: hex.EncodeToString(nonce(r.engine))}
	if r.apart {
		answer = v1.ProbeAnswer{Kind: "tp", Outcome: v1.NotShared, Error: &v1.LocalFail{Errno: "ENOENT", Detail: "no such file"}}
	}
	return &v1.Probe{AttemptID: attempt, Incarnation: r.incarnation(), Answers: []v1.ProbeAnswer{answer}}
}

// comeUp registers all ranks of an engine. The last one comes when the trouble is over that begins once the others are there.
func (f *fleet) comeUp(t *testing.T, engine string, trouble func()) []ending {
	t.Helper()
	endings := make([]ending, clusterRanks)
	var ranks sync.WaitGroup
	over := make(chan struct{})
	for n := range endings {
		ranks.Go(func() {
			if n == clusterRanks-1 {
				<-over
			}
			endings[n] = f.register(rank{n: int64(n), engine: engine, deadline: clusterDeadline})
		})
	}
	require.Eventually(t, func() bool { return f.reported(engine) == clusterRanks-1 }, clusterDeadline, 10*time.Millisecond)
	trouble()
	close(over)
	ranks.Wait()
	return endings
}

// admitted checks that all ranks are, and by one attempt.
func admitted(t *testing.T, endings []ending) {
	t.Helper()
	for n, e := range endings {
		require.NoError(t, e.err, "rank %d", n)
		assert.Equal(t, v1.Allow, e.answer, "rank %d", n)
		assert.Equal(t, endings[0].attempt, e.attempt, "one attempt, which nothing may lose")
	}
}

// TestClusterAdmits: whatever happens to one node or one service of three while an engine comes up, its ranks, which ask any
// of the services, get one admission of one attempt, in time.
func TestClusterAdmits(t *testing.T) {
	f := newFleet(t, 3)
	stream := "KV_" + journal.DefaultBucket
	for name, trouble := range map[string]func(){
		"nothing":              func() {},
		"a service restarts":   func() { f.restart(1) },
		"the leader is killed": func() { i := f.nats.Leader(stream); f.nats.Kill(i); f.nats.Restart(i) },
		"a node is cut off":    func() { i := f.nats.Leader(stream); f.nats.Partition(i); f.nats.Leader(stream, i); f.nats.Heal(i) },
	} {
		t.Run(name, func(t *testing.T) { admitted(t, f.comeUp(t, name, trouble)) })
	}
}

// TestAloneRestarts: a service whose NATS is in its process forgets the attempt when it restarts. Ranks that report again, as
// they do by themselves, are admitted by another one.
func TestAloneRestarts(t *testing.T) {
	f := newFleet(t, 1)
	var before string
	endings := f.comeUp(t, "e", func() {
		view, err := f.service(0).Engine(rendezvous.Key{Engine: "e"})
		require.NoError(t, err)
		before = view.Attempts[0].AttemptID
		f.restart(0)
	})
	admitted(t, endings)
	assert.NotEqual(t, before, endings[0].attempt)
}

// TestClusterInTrouble: while nodes and services come and go at random, the ranks of engines that come up may fail, but each
// ends in time, those of one attempt alike, and none is allowed where one is apart. After each trouble engines are admitted.
func TestClusterInTrouble(t *testing.T) {
	f := newFleet(t, 3)
	over := make(chan struct{})
	var lines sync.WaitGroup // of engines that come up one after the other
	var admissions atomic.Int64
	for line := range uint64(2) {
		lines.Go(func() {
			rng := rand.New(rand.NewPCG(line, 0))
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
					admissions.Add(f.troubled(t, fmt.Sprintf("engine-%d-%d", line, n), rng))
				}
			}
		})
	}
	stop := sync.OnceFunc(func() {
		close(over)
		lines.Wait()
	})
	defer stop()
	rng := rand.New(rand.NewPCG(0, 1))
	for _, kind := range rng.Perm(6)[:4] {
		where := rng.IntN(3)
		if kind < 3 {
			where = f.nats.Leader("KV_" + journal.DefaultBucket)
		}
		f.trouble(kind%3, where)
		before := admissions.Load()
		require.Eventually(t, func() bool { return admissions.Load() > before }, time.Minute, 10*time.Millisecond, "nobody comes up")
	}
	stop()
	admitted(t, f.comeUp(t, "afterwards", func() {}))
}

const troubledDeadline = 10 * time.Second

// troubled has an engine come up, in a quarter of the cases with a rank that is apart, and checks what must hold whatever
// happens. It returns how many ranks were allowed.
func (f *fleet) troubled(t *testing.T, engine string, rng *rand.Rand) (admissions int64) {
	apart := rng.IntN(4) == 0
	endings := make([]ending, clusterRanks)
	var ranks sync.WaitGroup
	for n := range endings {
		late := time.Duration(rng.Int64N(int64(300 * time.Millisecond)))
		ranks.Go(func() {
			time.Sleep(late) // ranks do not come at once
			endings[n] = f.register(rank{n: int64(n), engine: engine, deadline: troubledDeadline, apart: apart && n == clusterRanks-1})
		})
	}
	ranks.Wait()
	answers := map[string]string{}
	for n, e := range endings {
		assert.Less(t, e.took, troubledDeadline+time.Second, "%s: rank %d: %v", engine, n, e.err)
		if e.err != nil {
			continue
		}
		if other, known := answers[e.attempt]; known {
			assert.Equal(t, other, e.answer, "%s: attempt %s has two ends", engine, e.attempt)
		}
		answers[e.attempt] = e.answer
		if e.answer == v1.Allow {
			assert.False(t, apart, "%s: rank %d is allowed", engine, n)
			admissions++
		}
	}
	return admissions
}

// trouble does something to a node or its service, and undoes it.
func (f *fleet) trouble(kind, i int) {
	f.Helper()
	stream := "KV_" + journal.DefaultBucket
	switch kind {
	case 0:
		f.nats.Kill(i)
		f.nats.Leader(stream)
		f.nats.Restart(i)
	case 1:
		f.nats.Partition(i)
		f.nats.Leader(stream, i)
		f.nats.Heal(i)
	case 2:
		f.restart(i)
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
