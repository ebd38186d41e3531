package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
)

// decide has the verdict made and writes it. A policy that gives none rejects the attempt: it would give none again.
func (s *Service) decide(ctx context.Context, a *attempt) {
	s.mu.Lock()
	ctx, cancel := context.WithTimeout(ctx, a.remaining())
	world, reports := a.world(), a.ranked()
	s.mu.Unlock()
	defer cancel()
	launch := admission.Launch(a.key.Engine, world, reports)
	verdict, err := s.judge(ctx, a.key, launch)
	for try := 1; try < deadlineTries && codeOf(err) == v1.CodeEvaluationDeadline; try++ {
		verdict, err = s.judge(ctx, a.key, launch)
	}
	if err != nil {
		if ctx.Err() == nil {
			s.undecided(ctx, a, err)
		}
		return
	}
	err = s.write(ctx, a.record(recordVerdict, -1), func() []byte { return encode(verdictRecord{verdict}) }, s.keep(a))
	if err != nil && ctx.Err() == nil {
		s.opts.Logger.Error("verdict not written", "engine", a.key.Engine, "attempt", a.n, "error", err)
	}
}

// deadlineTries is how often a policy is asked that did not answer in time: it may have been the machine that was busy, and a
// wrong reject costs somebody's launch.
const deadlineTries = 3

// judge has one verdict made, when there is a place.
func (s *Service) judge(ctx context.Context, key Key, launch *v1.Launch) ([]byte, error) {
	select {
	case s.deciding <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err() // the phase ends, which ends the attempt
	}
	defer func() { <-s.deciding }()
	start := time.Now()
	defer func() { s.opts.Observe.Decided(time.Since(start)) }()
	return s.opts.Decide(ctx, key, launch)
}

// Coded is an error with one of the codes of api/v1, as a policy's evaluation gives.
type Coded interface {
	error
	ProblemCode() string
}

func codeOf(err error) string {
	var coded Coded
	if errors.As(err, &coded) {
		return coded.ProblemCode()
	}
	return v1.CodeInternal
}

// undecided rejects an attempt that got no verdict.
func (s *Service) undecided(ctx context.Context, a *attempt, err error) {
	code := codeOf(err)
	s.opts.Logger.Error("no verdict", "engine", a.key.Engine, "attempt", a.n, "error", err)
	s.finish(ctx, a, v1.EndAdmission, nil, fmt.Sprintf("%s: no verdict on engine %s: %s", code, a.key.Engine, err), &v1.Admission{
		Outcome: v1.Reject, Code: code,
	})
}

// ranked are the reports in the order of ranks. It needs the lock.
func (a *attempt) ranked() []admission.Ranked {
	list := make([]admission.Ranked, 0, len(a.members))
	for _, m := range a.sorted() {
		list = append(list, admission.Ranked{Rank: m.rank, Report: m.report})
	}
	return list
}

// admit folds verdict and answers.
func (s *Service) admit(ctx context.Context, a *attempt) {
	s.mu.Lock()
	if !a.open() {
		s.mu.Unlock()
		return
	}
	reports, outcomes := a.ranked(), map[int64][]v1.RankProbe{}
	for rank, m := range a.members {
		outcomes[rank] = m.outcomes
	}
	verdict := a.verdict.verdict
	s.mu.Unlock()
	result := admission.Admit(a.key.Engine, verdict, reports, outcomes)
	if result.Outcome == v1.Allow && !oneWorld(reports) {
		// A site may turn off the checks that say so, but then nobody knows which groups there are.
		*result = v1.Admission{Outcome: v1.Reject, Code: "consistency.config", Message: fmt.Sprintf(
			"consistency.config: the ranks of engine %s were told different world sizes; start all with one configuration", a.key.Engine)}
	}
	s.finish(ctx, a, v1.EndAdmission, nil, result.Message, result)
}

func oneWorld(reports []admission.Ranked) bool {
	return !slices.ContainsFunc(reports, func(r admission.Ranked) bool { return r.Report.WorldSize != reports[0].Report.WorldSize })
}

// keep is how long what is told of an ended attempt is kept, counted from any moment of it.
func (s *Service) keep(a *attempt) time.Duration {
	return a.spec.report() + a.spec.probe() + s.opts.Keep
}
