package rendezvous

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

var seeds = flag.Int("seeds", 150, "how many random schedules TestSimulation tries")

// TestSimulation lets engines come up on several replicas in virtual time, under a random schedule of crashes, cut
// connections, lost acknowledgements, a store that forgets everything, and delays between any two steps, and checks what must hold whatever happens: one end
// for all, no allow without every proof, and an end for every waiter.
func TestSimulation(t *testing.T) {
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newSimulation(t, seed).run() })
		})
	}
}

// TestSimulationInPeace: without faults, engines whose groups share memory are admitted and the others are not.
func TestSimulationInPeace(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			sim := newSimulation(t, seed)
			sim.faulty = false
			sim.run()
			require.Len(t, sim.answers, sim.world)
			want := v1.Allow
			for _, d := range sim.domains {
				if d != sim.domains[0] {
					want = v1.Reject
				}
			}
			for _, got := range sim.answers {
				require.NotNil(t, got.admission, "rank %d: %v", got.rank, got.err)
				assert.Equal(t, want, got.admission.Outcome)
			}
		})
	}
}

const simDeadline = 20 * time.Second

type simulation struct {
	t      *testing.T
	rng    *rand.Rand
	store  *simStore
	faulty bool
	// coreFree: the policy does not care where the engine core is.
	coreFree bool

	tensor, pipeline int64
	world            int
	domains          []int // of each rank

	mu       sync.Mutex
	replicas []*replica
	nonces   map[string]string // by segment
	proved   map[string]bool   // incarnation + kind: read the right nonce
	answers  []ending
}

// ending is how one incarnation's registration ended.
type ending struct {
	rank        int
	incarnation string
	attempt     string
	admission   *v1.Admission
	end         *v1.AttemptEnd
	err         error
	took        time.Duration
}

type replica struct {
	journal *simJournal
	service *Service
	stop    context.CancelFunc
	stopped chan struct{}
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	rng := rand.New(rand.NewPCG(seed, 0))
	sim := &simulation{
		t: t, rng: rng, store: newSimStore(seed), faulty: true, tensor: 1 + rng.Int64N(3), pipeline: 1 + rng.Int64N(3),
		nonces: map[string]string{}, proved: map[string]bool{},
	}
	sim.world = int(sim.tensor * sim.pipeline)
	spread := rng.IntN(3) == 0
	for range sim.world {
		domain := 0
		if spread {
			domain = rng.IntN(2)
		}
		sim.domains = append(sim.domains, domain)
	}
	return sim
}

func (sim *simulation) run() {
	if sim.faulty {
		sim.store.slow = time.Duration(sim.rng.Int64N(int64(400 * time.Millisecond)))
		sim.store.lossy = sim.rng.Float64() / 5
	}
	for range 1 + sim.rng.IntN(3) {
		sim.replicas = append(sim.replicas, sim.start())
	}
	ctx, cancel := context.WithCancel(sim.t.Context())
	var workers, faults sync.WaitGroup
	for rank := range sim.world {
		seed := sim.rng.Uint64()
		workers.Go(func() { sim.worker(ctx, rank, rand.New(rand.NewPCG(seed, 2))) })
	}
	if sim.faulty {
		seed := sim.rng.Uint64()
		faults.Go(func() { sim.disturb(ctx, rand.New(rand.NewPCG(seed, 3))) })
	}
	workers.Wait()
	cancel()
	faults.Wait()
	sim.check()
	for _, r := range sim.replicas {
		r.stop()
		<-r.stopped
	}
}

func (sim *simulation) start() *replica {
	r := &replica{journal: newSimJournal(sim.store), stopped: make(chan struct{})}
	service, err := New(Options{Journal: r.journal, Decide: sim.decide})
	require.NoError(sim.t, err)
	r.service = service
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	go func() {
		defer close(r.stopped)
		assert.NoError(sim.t, service.Run(ctx))
	}()
	return r
}

// decide is a policy that has every group of the grid probed.
func (sim *simulation) decide(context.Context, Key, *v1.Launch) ([]byte, error) {
	verdict := v1.Verdict{Outcome: v1.Allow, Checks: []v1.CheckResult{}, Probe: sim.groups()}
	if !sim.coreFree {
		verdict.Checks = append(verdict.Checks, v1.CheckResult{
			ID: "tiering.core_local", Outcome: v1.NotApplicable, Enforcement: v1.EnforceDeny, Violations: []v1.Violation{},
		})
	}
	if sim.world > 1 {
		verdict.Outcome = v1.Unknown
		verdict.Checks = append(verdict.Checks, v1.CheckResult{
			ID: "tiering.node_local", Outcome: v1.Unknown, Enforcement: v1.EnforceDeny, Violations: []v1.Violation{},
		})
	}
	return json.Marshal(verdict)
}

func (sim *simulation) groups() []v1.Group {
	var groups []v1.Group
	for p := range sim.pipeline {
		if g := (v1.Group{Kind: "tp"}); sim.tensor > 1 {
			for t := range sim.tensor {
				g.Ranks = append(g.Ranks, p*sim.tensor+t)
			}
			groups = append(groups, g)
		}
	}
	for t := range sim.tensor {
		if g := (v1.Group{Kind: "pp"}); sim.pipeline > 1 {
			for p := range sim.pipeline {
				g.Ranks = append(g.Ranks, p*sim.tensor+t)
			}
			groups = append(groups, g)
		}
	}
	return groups
}

// disturb does one thing after the other to the replicas, until the workers are through.
func (sim *simulation) disturb(ctx context.Context, rng *rand.Rand) {
	for pause(ctx, time.Duration(rng.Int64N(int64(4*time.Second)))) == nil {
		sim.mu.Lock()
		i := rng.IntN(len(sim.replicas))
		r := sim.replicas[i]
		sim.mu.Unlock()
		switch rng.IntN(4) {
		case 0:
			r.stop()
			<-r.stopped
			fresh := sim.start()
			sim.mu.Lock()
			sim.replicas[i] = fresh
			sim.mu.Unlock()
		case 1:
			r.journal.partition()
		case 2:
			r.journal.heal()
		case 3:
			if rng.IntN(4) == 0 {
				sim.store.wipe()
			}
		}
	}
}

// worker comes up late, perhaps dies at some step, and perhaps comes back.
func (sim *simulation) worker(ctx context.Context, rank int, rng *rand.Rand) {
	for range 3 {
		start := time.Now()
		if sim.faulty {
			_ = pause(ctx, time.Duration(rng.Int64N(int64(5*time.Second))))
			start = time.Now()
		}
		life, die := context.WithTimeout(ctx, simDeadline+500*time.Millisecond)
		dies := sim.faulty && rng.IntN(8) == 0
		if dies {
			time.AfterFunc(time.Duration(rng.Int64N(int64(8*time.Second))), die)
		}
		got := sim.register(life, rank, rng)
		got.took = time.Since(start)
		died := life.Err() != nil && got.took < simDeadline
		die()
		sim.mu.Lock()
		if !died {
			sim.answers = append(sim.answers, got)
		}
		sim.mu.Unlock()
		if got.admission != nil || !sim.faulty {
			return
		}
	}
}

// register is the protocol of one rank.
func (sim *simulation) register(ctx context.Context, rank int, rng *rand.Rand) ending {
	got := ending{rank: rank, incarnation: newID()}
	report := sim.report(rank, got.incarnation)
	for {
		p, err := sim.untilAnswered(ctx, rng, func(s *Service) (*v1.Progress, bool, error) {
			p, err := s.Report(ctx, Caller{Key: Key{Engine: "e"}}, int64(rank), report, time.Second)
			return p, err == nil && (p.Verdict != nil || p.Admission != nil), err
		})
		if err == nil && p.Admission == nil {
			probe := sim.probe(rank, got.incarnation, p, rng)
			n := p.Attempt
			p, err = sim.untilAnswered(ctx, rng, func(s *Service) (*v1.Progress, bool, error) {
				p, err := s.Probe(ctx, Caller{Key: Key{Engine: "e"}}, n, int64(rank), probe, time.Second)
				return p, err == nil && p.Admission != nil, err
			})
		}
		var known *Error
		if errors.As(err, &known) && known.Code == v1.CodeAttemptGone {
			continue
		}
		var ended *EndedError
		switch {
		case errors.As(err, &ended):
			got.attempt, got.end = ended.End.AttemptID, &ended.End
		case err != nil:
			got.err = err
		default:
			got.attempt, got.admission = p.AttemptID, p.Admission
		}
		return got
	}
}

// untilAnswered asks any replica again until there is an answer.
func (sim *simulation) untilAnswered(
	ctx context.Context, rng *rand.Rand, ask func(*Service) (*v1.Progress, bool, error),
) (*v1.Progress, error) {
	for {
		sim.mu.Lock()
		r := sim.replicas[rng.IntN(len(sim.replicas))]
		sim.mu.Unlock()
		p, done, err := ask(r.service)
		var known *Error
		retry := err == nil && !done || errors.As(err, &known) && known.Code == v1.CodeStore
		if !retry {
			return p, err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func (sim *simulation) report(rank int, incarnation string) *v1.Report {
	one := func(n int64) *int64 { return &n }
	r := &v1.Report{
		Protocol: v1.Protocol, Incarnation: incarnation, WorldSize: int64(sim.world), DeadlineMS: simDeadline.Milliseconds(),
		Configuration: v1.Configuration{Parallel: &v1.Parallel{Tensor: one(sim.tensor), Pipeline: one(sim.pipeline)}},
		Facts:         v1.NodeFacts{Node: fmt.Sprintf("node-%d", sim.domains[rank])},
	}
	nonce := newID()
	sum := sha256.Sum256([]byte(nonce))
	r.Segment = &v1.Segment{Name: segmentPrefix + newID(), SHA256: hex.EncodeToString(sum[:])}
	sim.mu.Lock()
	defer sim.mu.Unlock()
	sim.nonces[r.Segment.Name] = nonce
	return r
}

// probe answers what a rank really sees, and at times claims to share what it does not.
func (sim *simulation) probe(rank int, incarnation string, p *v1.Progress, rng *rand.Rand) *v1.Probe {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	out := &v1.Probe{Protocol: v1.Protocol, AttemptID: p.AttemptID, Incarnation: incarnation}
	for _, s := range p.Segments {
		a := v1.ProbeAnswer{Kind: s.Kind, Outcome: v1.NotShared, Error: &v1.LocalFail{Errno: "ENOENT", Detail: "no such file"}}
		switch {
		case sim.domains[s.Leader] == sim.domains[rank]:
			a = v1.ProbeAnswer{Kind: s.Kind, Outcome: v1.Shared, Nonce: hex.EncodeToString([]byte(sim.nonces[s.Name]))}
			sim.proved[incarnation+s.Kind] = true
		case sim.faulty && rng.IntN(4) == 0:
			a = v1.ProbeAnswer{Kind: s.Kind, Outcome: v1.Shared, Nonce: hex.EncodeToString([]byte(newID()))}
		}
		out.Answers = append(out.Answers, a)
	}
	return out
}

// check holds the answers against what must be true.
func (sim *simulation) check() {
	ends := map[string]string{}
	for _, got := range sim.answers {
		assert.LessOrEqual(sim.t, got.took, simDeadline+time.Second, "rank %d waited too long: %+v", got.rank, got)
		if got.attempt == "" {
			continue
		}
		end := ""
		if got.end != nil {
			end = got.end.Kind + " " + got.end.Message
		} else {
			end = got.admission.Outcome + " " + got.admission.Message
		}
		if other, known := ends[got.attempt]; known {
			assert.Equal(sim.t, other, end, "attempt %s has two ends", got.attempt)
		}
		ends[got.attempt] = end
		if got.admission != nil && got.admission.Outcome == v1.Allow {
			sim.checkProofs(got)
		}
	}
}

// checkProofs: an allow lists the rank's own incarnation, and that one proved each of its groups.
func (sim *simulation) checkProofs(got ending) {
	require.NotNil(sim.t, got.admission.Rank)
	assert.Equal(sim.t, got.incarnation, got.admission.Rank.Incarnation)
	for _, g := range sim.groups() {
		for _, rank := range g.Ranks {
			assert.Equal(sim.t, sim.domains[g.Ranks[0]], sim.domains[rank], "allowed although %s group %v spans", g.Kind, g.Ranks)
			if int(rank) == got.rank {
				assert.True(sim.t, sim.proved[got.incarnation+g.Kind], "rank %d did not prove its %s group", rank, g.Kind)
			}
		}
	}
}
