//go:build linux

package soak

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tiergate/tiergate/bench/storm"
)

// Plan is how a soak goes.
type Plan struct {
	// Program is tiergate, Dir an empty directory.
	Program, Dir string
	// Duration is how long the load lasts, capacity and overload together; starting and calming down come on top.
	Duration time.Duration
	Seed     uint64
	// Shared lets the service have all processors, together with this program.
	Shared bool
	// Still leaves the policy as it is, to tell what its changes cost.
	Still bool
	// Say is told what happens now; nil says nothing.
	Say func(format string, args ...any)
}

// Outcome is what a soak found.
type Outcome struct {
	// Processors is how many the service had; Reloading, Speaking and Reviewing tell whether it took changed policies, spoke TLS,
	// and answered reviews, since a build may not do so.
	Processors                     int
	Reloading, Speaking, Reviewing bool

	// Connections are those of the closed load that finds the capacity.
	Connections  int
	Rounds       []Round
	Misconduct   *Misconduct
	Base, After  Figures
	Calm         time.Duration
	LoggedErrors []string
	Stopped      error
}

// Round is a measurement of the capacity and twice that load, one after the other, so that a machine that has something else
// to do now and then makes the ratio wrong in few rounds only.
type Round struct{ Capacity, Overload *Phase }

// Phase is what came of a load and of what went on beside it.
type Phase struct {
	Load    *Tally
	Reviews *Tally
	Engines storm.Figures
	// Changes of the policy were made, and so many were seen in force.
	Changes, Seen int
	// Busy is the share of its processors that the service used, Stolen the share of the processor time it asked for that it had to
	// wait for, mostly because other programs had it.
	Busy, Stolen float64
}

const (
	// roundTime is about how long a round lasts, of which the capacity takes a capacityShare.
	roundTime     = time.Minute
	capacityShare = 4
	warmTime      = 16 * time.Second

	enginesPerSecond = 4
	reviewsPerSecond = 20
	// busyConnections for each processor keep it busy without a queue of any length.
	busyConnections = 8
	openConnections = 2048
)

type soak struct {
	Plan
	service    *Service
	policies   *Policies
	processors []int
	load       *Load
	reviews    *Load
	Outcome
}

// Run carries out a plan. An error means that there is nothing to judge.
func Run(ctx context.Context, plan Plan) (*Outcome, error) {
	s := &soak{Plan: plan, Outcome: Outcome{Misconduct: new(Misconduct)}, policies: &Policies{Dir: filepath.Join(plan.Dir, "policy")}}
	if s.Say == nil {
		s.Say = func(string, ...any) {}
	}
	if err := s.share(); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	err := errors.Join(s.phases(ctx), ctx.Err())
	s.Stopped = s.service.Stop()
	logged, logErr := s.service.LoggedErrors()
	s.LoggedErrors = logged
	return &s.Outcome, errors.Join(err, logErr)
}

// share gives the service processors of its own, unless it is to have all.
func (s *soak) share() error {
	s.Outcome.Processors = runtime.NumCPU()
	if s.Shared {
		return nil
	}
	own, theirs, err := Processors()
	if err != nil || len(theirs) == 0 {
		return err
	}
	s.processors, s.Outcome.Processors = theirs, len(theirs)
	return Confine(own)
}

// start starts the service with all that it can do.
func (s *soak) start(ctx context.Context) (err error) {
	if err := s.policies.Change(); err != nil {
		return err
	}
	o := Options{Program: s.Program, Dir: s.Dir, Policy: s.policies.Dir, Processors: s.processors}
	if o.Certificates, err = MakeCertificates(s.Dir); err != nil {
		return err
	}
	if s.service, err = Start(ctx, o); err != nil {
		return err
	}
	if s.Speaking = reachable(ctx, s.service.Plain); !s.Speaking {
		o.Certificates = nil
		_ = s.service.Stop()
		if s.service, err = Start(ctx, o); err != nil {
			return err
		}
	}
	s.Reviewing = s.Speaking && reachable(ctx, s.service.Webhook)
	s.load = &Load{Targets: []Target{s.service.Plain, s.service.Unix}, Corpus: Corpus(), Seed: s.Seed}
	s.reviews = &Load{Targets: []Target{s.service.Webhook}, Corpus: Reviews(), Seed: s.Seed + 1}
	if !s.Still {
		s.Reloading, err = s.reloads(ctx)
	}
	return err
}

func reachable(ctx context.Context, t Target) bool {
	conn, err := t.dial(ctx)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// reloads tells whether a changed policy comes into force.
func (s *soak) reloads(ctx context.Context) (bool, error) {
	before, err := s.service.Revision(ctx)
	if err != nil {
		return false, err
	}
	if err := s.policies.Change(); err != nil {
		return false, err
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); rest(ctx, 100*time.Millisecond) {
		now, err := s.service.Revision(ctx)
		if err != nil || now != before {
			return err == nil, err
		}
	}
	return false, ctx.Err()
}

func (s *soak) phases(ctx context.Context) (err error) {
	s.Connections = busyConnections * s.Outcome.Processors
	s.Say("warming up: what is made on demand is made now")
	s.round(ctx, warmTime)
	s.Rounds, s.Misconduct = nil, new(Misconduct)
	if s.Base, err = s.calm(ctx, 10*time.Second, func(Figures) bool { return false }); err != nil {
		return err
	}
	rounds := max(1, int(s.Duration.Round(roundTime)/roundTime))
	for range rounds {
		s.round(ctx, s.Duration/time.Duration(rounds))
	}
	s.Say("waiting until nothing is left of it")
	start := time.Now()
	s.After, err = s.calm(ctx, 150*time.Second, func(f Figures) bool { return s.Base.back(f) == "" })
	s.Calm = time.Since(start).Round(time.Second)
	return err
}

// round measures the capacity and applies twice that.
func (s *soak) round(ctx context.Context, d time.Duration) {
	short, long := d/capacityShare, d-d/capacityShare
	s.Say("capacity: closed load of %d connections", s.Connections)
	var r Round
	r.Capacity = s.phase(ctx, short, 1, func(ctx context.Context) *Tally { return s.load.Closed(ctx, s.Connections, short) })
	rate := 2 * r.Capacity.Load.Rate()
	twice := s.service.fairly(rate / (1 - r.Capacity.Stolen))
	s.Say("open load of %.0f requests a second, which is twice that, for %s, beside clients that misbehave", rate, long)
	wild, tame := context.WithCancel(ctx)
	misbehaved := together(func() { s.Misconduct.Add(Misbehave(wild, s.service)) })
	r.Overload = s.phase(ctx, long, 2, func(ctx context.Context) *Tally { return s.load.Open(ctx, openConnections, twice, long) })
	tame()
	misbehaved()
	s.Rounds = append(s.Rounds, r)
}

// phase applies a load while engines come up, reviews are answered, and the policy changes.
func (s *soak) phase(ctx context.Context, d time.Duration, weight int, apply func(context.Context) *Tally) *Phase {
	p := new(Phase)
	beside, stop := context.WithCancel(ctx)
	defer stop()
	used, waited := s.service.times()
	start := time.Now()
	waits := []func(){
		s.engines(ctx, p, d, weight),
		s.change(beside, p),
	}
	if s.Reviewing {
		waits = append(waits, together(func() { p.Reviews = s.reviews.Open(ctx, 16, steady(float64(weight*reviewsPerSecond)), d) }))
	}
	p.Load = apply(ctx)
	nowUsed, nowWaited := s.service.times()
	available := time.Since(start).Seconds() * float64(s.Outcome.Processors)
	p.Busy, p.Stolen = (nowUsed-used).Seconds()/available, stolen(nowUsed-used, nowWaited-waited)
	stop()
	for _, wait := range waits {
		wait()
	}
	return p
}

// together runs something and returns what waits for its end.
func together(run func()) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	return func() { <-done }
}

// engines lets engines come up, a quarter of them on two hosts, which must be rejected.
func (s *soak) engines(ctx context.Context, p *Phase, d time.Duration, weight int) (wait func()) {
	s.Seed++
	plan := storm.Plan{
		Socket: s.service.Unix.Address, Shape: storm.Shape{Tensor: 4, Pipeline: 2},
		Engines: max(1, int(d.Seconds()*float64(enginesPerSecond*weight))), Over: d, Late: time.Second, SpanEvery: 4, Seed: s.Seed,
	}
	return together(func() { p.Engines = storm.Run(ctx, plan) })
}

// change changes the policy every second, if that has an effect, and looks which revisions come into force.
func (s *soak) change(ctx context.Context, p *Phase) (wait func()) {
	if !s.Reloading {
		return func() {}
	}
	keep := together(func() {
		var err error
		if p.Changes, err = s.policies.Keep(ctx); err != nil {
			s.Say("change policy: %v", err)
		}
	})
	look := together(func() {
		seen := map[string]bool{}
		for ; ctx.Err() == nil; rest(ctx, 200*time.Millisecond) {
			if revision, err := s.service.Revision(ctx); err == nil && revision != "" {
				seen[revision] = true
			}
		}
		p.Seen = len(seen)
	})
	return func() { keep(); look() }
}

// calm sends a few requests a second, as on a quiet day, and returns the figures when they are good or the time is over.
func (s *soak) calm(ctx context.Context, within time.Duration, good func(Figures) bool) (f Figures, err error) {
	for end := time.Now().Add(within); ; {
		s.load.Open(ctx, 1, steady(50), 2*time.Second)
		if f, err = s.service.Figures(ctx); err != nil || good(f) || !time.Now().Before(end) {
			return f, err
		}
	}
}
