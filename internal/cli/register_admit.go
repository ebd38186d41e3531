package cli

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	v1 "github.com/tiergate/tiergate/api/v1"
	gate "github.com/tiergate/tiergate/runtime"
)

// errElsewhere ends the wait of a process's other ranks when one of them cannot take part in the attempt any more.
var errElsewhere = errors.New("another rank of this process failed")

// admit registers all ranks at once and returns nil if every one was admitted. Otherwise why not has been written.
func (r *registering) admit(ctx context.Context, a *app) error {
	show := newProgress(a, r)
	g, err := r.gate(show.heard, a)
	if err != nil {
		return err
	}
	showing, stop := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() { show.run(showing) })
	failures := r.register(ctx, g)
	stop()
	shown.Wait()
	return r.report(ctx, a, failures)
}

// mention tells the service, if there is one, of an engine that needs no admission. Nothing comes of it.
func (r *registering) mention(ctx context.Context) {
	if r.server == "" || r.key == "" {
		return
	}
	if g, err := r.gate(nil, &app{}); err == nil {
		r.register(ctx, g)
	}
}

// gate makes the gate that all ranks go through. They are in one place, so that its facts are collected once.
func (r *registering) gate(heard func(v1.Progress), a *app) (*gate.Gate, error) {
	logger := slog.New(slog.DiscardHandler)
	if r.verbose {
		logger = slog.New(slog.NewTextHandler(a.stderr, nil))
	}
	g, err := gate.New(gate.Options{
		URL: r.server, Engine: r.key, Deadline: r.deadline, Waiting: heard, Logger: logger, Credentials: r.shown,
		Environ: r.env, Collect: sync.OnceValue(func() v1.NodeFacts { return gate.Facts(r.env) }),
	})
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	return g, nil
}

// register returns the error of each rank, nil for those that were admitted.
func (r *registering) register(ctx context.Context, g *gate.Gate) []error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	failures := make([]error, len(r.members))
	var all sync.WaitGroup
	for i, member := range r.members {
		all.Go(func() {
			failures[i] = g.RegisterKV(ctx, member, func(context.Context) error { return nil })
			if failures[i] != nil && !attemptWide(failures[i]) {
				cancel(errElsewhere)
			}
		})
	}
	all.Wait()
	return failures
}

// attemptWide tells errors that every rank gets by itself.
func attemptWide(err error) bool {
	var rejected *gate.RejectedError
	var ended *gate.EndedError
	return errors.As(err, &rejected) || errors.As(err, &ended) || errors.Is(err, gate.ErrServiceLost)
}
