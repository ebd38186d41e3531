package storm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Plan says what comes when.
type Plan struct {
	Socket string
	Shape  Shape
	// Engines begin one after the other over this time; the ranks of each come within Late, the last one at its end.
	Engines int
	Over    time.Duration
	Late    time.Duration
	// Every how many-th engine spans two hosts and must be rejected; 0 means none.
	SpanEvery int
	Seed      uint64
}

// Figures are what came of a plan. Times are from an engine's last report to its last admission.
type Figures struct {
	Workers, Wrong, Lost int
	MostWaiting          int64
	P50, P99, Max        time.Duration
	// FirstToLast is the longest time from an engine's first report to its last admission.
	FirstToLast time.Duration
	FirstError  error
}

type storm struct {
	plan    Plan
	client  *http.Client
	waiting atomic.Int64
	most    atomic.Int64

	mu      sync.Mutex
	figures Figures
	took    []time.Duration
}

// Run carries out a plan. Workers whose answer is wrong or does not come are counted.
func Run(ctx context.Context, plan Plan) Figures {
	s := &storm{plan: plan, client: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", plan.Socket)
		},
		MaxIdleConnsPerHost: 256, ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10,
	}}}
	defer s.client.CloseIdleConnections()
	rng := rand.New(rand.NewPCG(plan.Seed, 0))
	start := time.Now()
	var engines sync.WaitGroup
	for i := range plan.Engines {
		if !sleepUntil(ctx, start.Add(plan.Over*time.Duration(i)/time.Duration(plan.Engines))) {
			break
		}
		e := newEngine(fmt.Sprintf("engine-%d-%d", plan.Seed, i), plan.Shape, plan.SpanEvery > 0 && i%plan.SpanEvery == 0)
		arrivals := s.arrivals(rng)
		engines.Go(func() { s.engine(ctx, e, arrivals) })
	}
	engines.Wait()
	slices.Sort(s.took)
	f := s.figures
	f.MostWaiting = s.most.Load()
	if n := len(s.took); n > 0 {
		f.P50, f.P99, f.Max = s.took[n/2], s.took[min(n*99/100, n-1)], s.took[n-1]
	}
	return f
}

// arrivals are when the ranks of an engine come, after its beginning.
func (s *storm) arrivals(rng *rand.Rand) []time.Duration {
	list := make([]time.Duration, s.plan.Shape.World())
	for i := range list {
		if s.plan.Late > 0 {
			list[i] = time.Duration(rng.Int64N(int64(s.plan.Late)))
		}
	}
	list[rng.IntN(len(list))] = s.plan.Late
	return list
}

// engine lets all ranks of one engine come up.
func (s *storm) engine(ctx context.Context, e *engine, arrivals []time.Duration) {
	start := time.Now()
	var mu sync.Mutex
	var first, last, end time.Time
	var ranks sync.WaitGroup
	for rank, arrival := range arrivals {
		ranks.Go(func() {
			if !sleepUntil(ctx, start.Add(arrival)) {
				return
			}
			s.wait(1)
			defer s.wait(-1)
			w := &worker{client: s.client, engine: e, rank: int64(rank), reported: func() {
				mu.Lock()
				defer mu.Unlock()
				if last = time.Now(); first.IsZero() {
					first = last
				}
			}}
			got, err := w.register(ctx)
			outcome := ""
			if got != nil {
				outcome = got.Outcome
			}
			s.count(e, outcome, err)
			mu.Lock()
			defer mu.Unlock()
			end = time.Now()
		})
	}
	ranks.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, end.Sub(last))
	s.figures.FirstToLast = max(s.figures.FirstToLast, end.Sub(first))
}

func (s *storm) wait(n int64) {
	now := s.waiting.Add(n)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
}

func (s *storm) count(e *engine, outcome string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures.Workers++
	switch {
	case err != nil:
		s.figures.Lost++
		if s.figures.FirstError == nil {
			s.figures.FirstError = err
		}
	case outcome != e.want():
		s.figures.Wrong++
		if s.figures.FirstError == nil {
			s.figures.FirstError = fmt.Errorf("engine %s: %s, expected %s", e.id, outcome, e.want())
		}
	}
}

func sleepUntil(ctx context.Context, t time.Time) bool {
	select {
	case <-time.After(time.Until(t)):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
