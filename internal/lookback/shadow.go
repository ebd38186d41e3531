package lookback

import (
	"context"
	"log/slog"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
)

const (
	// shadowQueue is how many decisions wait to be tried; more are skipped.
	shadowQueue = 64
	// shadowEvery is how often one flip is logged at most.
	shadowEvery = time.Minute
)

// ShadowOptions configure a Shadow.
type ShadowOptions struct {
	// Engine is the candidate. The shadow does not close it.
	Engine *policy.Engine
	// Timeout bounds one decision of the candidate.
	Timeout time.Duration
	Logger  *slog.Logger
	// Tried is called for every decision that was tried, with what flipped, or that the candidate could not make. Skipped is called
	// for those that had no place.
	Tried   func(flips []Flip, err error)
	Skipped func()
}

// Shadow tries a candidate revision on what was decided. It runs beside the decisions, one at a time, and never waits for a
// place: it has no way to delay or change an answer.
type Shadow struct {
	opts   ShadowOptions
	queue  chan shadowed
	logged map[Flip]time.Time
}

type shadowed struct {
	stage    string
	launch   *v1.Launch
	decision policy.Decision
}

// NewShadow returns a shadow that does not run yet.
func NewShadow(opts ShadowOptions) *Shadow {
	return &Shadow{opts: opts, queue: make(chan shadowed, shadowQueue), logged: map[Flip]time.Time{}}
}

// Try offers a decision that was made. The launch must not change any more. A nil shadow tries nothing.
func (s *Shadow) Try(stage string, launch *v1.Launch, d policy.Decision) {
	if s == nil || d.Outcome == "" {
		return
	}
	select {
	case s.queue <- shadowed{stage, launch, d}:
	default:
		s.opts.Skipped()
	}
}

// Run tries decisions until the context ends.
func (s *Shadow) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case one := <-s.queue:
			flips, err := s.try(ctx, &one)
			if ctx.Err() != nil {
				return
			}
			s.opts.Tried(flips, err)
			s.tell(&one, flips, err)
		}
	}
}

func (s *Shadow) try(ctx context.Context, one *shadowed) ([]Flip, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	then, err := time.Parse(time.RFC3339, one.decision.Now)
	if err != nil {
		return nil, err
	}
	d, err := s.opts.Engine.DecideAsOf(ctx, then, one.stage, one.launch)
	if err != nil {
		return nil, err
	}
	return Flips(one.decision.JSON, d.JSON)
}

// tell logs an example of every flip and of failures, now and then.
func (s *Shadow) tell(one *shadowed, flips []Flip, err error) {
	if err != nil {
		flips = []Flip{{Check: VerdictFlip, To: "error"}}
	}
	for _, f := range flips {
		if last, known := s.logged[f]; known && time.Since(last) < shadowEvery {
			continue
		}
		s.logged[f] = time.Now()
		s.opts.Logger.Info("shadow disagrees", "engine", one.launch.Engine.ID, "check", f.Check, "active", f.From, "shadow", f.To,
			"digest", one.decision.Digest, "error", err)
	}
}
