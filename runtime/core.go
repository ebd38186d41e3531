package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// AdmitCore is the engine core's gate, for before it opens the region or a tier. It is nil if the engine needs no
// admission, or if its last attempt was admitted and the core shares memory with rank 0; an attempt that is open is
// waited for. Anything else is an error: *CoreRejectedError, *EndedError, *ServiceError, ErrServiceLost, ErrAnswer, or
// the cause of a context that ended.
func (g *Gate) AdmitCore(ctx context.Context, engine v1.Engine, dataParallelRank int64) error {
	if !v1.NeedsGate(&engine) {
		return nil
	}
	key, err := engineKey(g.opts.Engine, &engine, dataParallelRank)
	if err != nil {
		return fmt.Errorf("admit core: %w", err)
	}
	c, err := newClient(g.opts.URL, g.opts.Credentials, g.connect)
	if err != nil {
		return fmt.Errorf("admit core: %w", err)
	}
	c.trace = traceOf(g.opts.Environ)
	defer c.close()
	log := g.opts.Logger.With("engine", key)
	s := newSession(c, &g.opts)
	if err := s.admitCore(ctx, log, enginePath(key), g.opts.Collect()); err != nil {
		log.Error("core not admitted", "error", err)
		return err
	}
	return nil
}

func (s *session) admitCore(ctx context.Context, log *slog.Logger, path string, facts v1.NodeFacts) error {
	report := &v1.CoreReport{Protocol: v1.Protocol, Incarnation: newIncarnation(), Facts: facts}
	for {
		text, err := s.poll(ctx, request{method: http.MethodGet, path: path})
		if err != nil {
			return err
		}
		last, err := s.client.lastAttempt(text)
		if err != nil {
			return err
		}
		report.AttemptID = last.AttemptID
		text, err = s.poll(ctx, request{
			method: http.MethodPut, path: fmt.Sprintf("%s/attempts/%d/core", path, last.Attempt),
			body: func() any { return report }, waiting: func([]byte) error { return nil },
		})
		switch {
		case err == nil:
			return s.believeCore(log.With("attempt", last.Attempt), text, last)
		case errors.Is(err, errOwnDeadline):
			return fmt.Errorf("%w: attempt %d of the workers is still open", ErrTimedOut, last.Attempt)
		case !gone(err):
			return err
		}
		// Replicas of a service learn of an attempt one after the other.
		s.failure = err
		if err := s.rest(ctx, 0); err != nil {
			return err
		}
	}
}

// lastAttempt is the one that the workers of this engine were admitted in: a core is built after they registered.
func (c *client) lastAttempt(text []byte) (*v1.AttemptView, error) {
	view := new(v1.EngineView)
	if err := c.read(text, view); err != nil {
		return nil, err
	}
	if len(view.Attempts) == 0 || view.Attempts[0].Attempt < 1 || view.Attempts[0].AttemptID == "" {
		return nil, c.unexpected("an engine without attempts")
	}
	return &view.Attempts[0], nil
}

func (s *session) believeCore(log *slog.Logger, text []byte, asked *v1.AttemptView) error {
	a := new(v1.CoreAdmission)
	if err := s.client.read(text, a); err != nil {
		return err
	}
	log.Info("core's admission received", "outcome", a.Outcome, "message", a.Message)
	late := time.Since(s.clock.end())
	switch {
	case a.Outcome == v1.Reject:
		return &CoreRejectedError{a}
	case a.Outcome != v1.Allow:
		return s.client.unexpected("a core's admission with the outcome %.40q", a.Outcome)
	case a.Attempt != asked.Attempt || a.AttemptID != asked.AttemptID:
		return s.client.unexpected("a core's admission of attempt %d (%.40s), not of attempt %d (%.40s)", a.Attempt,
			a.AttemptID, asked.Attempt, asked.AttemptID)
	case late > 0:
		return fmt.Errorf("%w: the core would go on %s after its deadline", ErrLate, late.Round(time.Millisecond))
	}
	return nil
}
