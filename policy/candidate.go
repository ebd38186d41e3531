package policy

import (
	"context"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Candidate is a revision that is complete and not in force: it can be tried, and then be put in force as it was tried. Close
// frees it, in force or not.
type Candidate struct {
	engine   *Engine
	snapshot *snapshot
}

// Prepare builds a revision from the shipped rules, sources and data, and leaves the one in force alone. What is wrong with it
// comes as Errors, all of it.
func (e *Engine) Prepare(ctx context.Context, sources []Source, data []byte) (*Candidate, error) {
	src, err := read(sources, data, e.opts.DataName)
	if err != nil {
		return nil, err
	}
	s, err := build(ctx, e, src)
	if err != nil {
		return nil, err
	}
	return &Candidate{e, s}, nil
}

// Activate puts a candidate in force, in one step: evaluations under way end on the revision that they began with, and whoever
// comes later begins on this one.
func (e *Engine) Activate(ctx context.Context, c *Candidate) error {
	c.snapshot.retain()
	if old := e.current.Swap(c.snapshot); old != nil {
		return old.release(ctx)
	}
	return nil
}

// Close lets go of the candidate.
func (c *Candidate) Close(ctx context.Context) error { return c.snapshot.release(ctx) }

// DecideAsOf judges a launch as Engine.DecideAsOf would if the candidate were in force.
func (c *Candidate) DecideAsOf(ctx context.Context, now time.Time, stage string, launch *v1.Launch) (Decision, error) {
	return c.snapshot.decide(ctx, now, stage, launch)
}

// Info describes the candidate.
func (c *Candidate) Info() Info { return c.snapshot.info(c.engine.opts.Now()) }

// AcceptedFlips are the stored launches whose verdicts this revision's author says may flip: data.settings.accept_flips.
func (c *Candidate) AcceptedFlips() []string { return c.snapshot.acceptFlips }
