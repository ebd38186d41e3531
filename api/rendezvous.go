package api

import (
	"context"
	"errors"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous"
	"github.com/tiergate/tiergate/topology"
)

// errNoState: the journal of the attempts is not there, or has not been read to its end.
var errNoState = &refusal{v1.CodeStore, "the service has not read the state of the engines' attempts yet, or has lost touch with " +
	"the store that keeps it; try again later"}

// meet makes the rendezvous of workers over a journal.
func (s *Server) meet(opts Options) (err error) {
	s.rendezvous, err = rendezvous.New(rendezvous.Options{
		Journal: opts.Journal, Solo: opts.Solo, Decide: s.judgeReports, Logger: opts.Logger, Keep: opts.Config.KeepAttempts,
		Observe: rendezvous.Observer{Ended: s.metrics.ended, Concluded: s.recordEnd, Decided: s.metrics.verdict},
	})
	return err
}

// judgeReports decides on what the workers of an engine reported.
func (s *Server) judgeReports(ctx context.Context, key rendezvous.Key, launch *v1.Launch) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.DecisionTimeout)
	defer cancel()
	start := time.Now()
	d, err := s.engine.DecideAt(ctx, topology.StageRegistration, launch)
	s.metrics.decided(d, err, time.Since(start))
	if err != nil {
		if errors.Is(context.Cause(ctx), context.Canceled) {
			return nil, err
		}
		return nil, &undecided{problemOf(context.Background(), err), err}
	}
	s.shadow.Try(topology.StageRegistration, launch, d)
	s.recordRegistration(key, launch, &d, time.Since(start))
	return d.JSON, nil
}

// undecided is a policy's failure, with what may be told of it.
type undecided struct {
	problem *v1.Problem
	err     error
}

// Error is shown to every rank of the engine.
func (u *undecided) Error() string       { return u.problem.Detail }
func (u *undecided) Unwrap() error       { return u.err }
func (u *undecided) ProblemCode() string { return u.problem.Code }
