package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/cli/output"
	gate "github.com/tiergate/tiergate/runtime"
	"github.com/tiergate/tiergate/runtime/credentials"
	"github.com/tiergate/tiergate/topology"
)

// report writes what came of the registration, for the failures of all ranks, and returns nil if all were admitted.
func (r *registering) report(ctx context.Context, a *app, failures []error) error {
	var stopped interrupted
	var rejected *gate.RejectedError
	switch {
	case errors.As(context.Cause(ctx), &stopped):
		return stopped
	case errors.As(errors.Join(failures...), &rejected):
		return r.rejected(ctx, a, rejected)
	}
	status := StatusAllow
	for _, f := range r.alike(failures) {
		status = worse(status, f.status)
		fmt.Fprintf(a.stderr, "tiergate register: engine %s: %s: %s\n", r.engine, topology.RankList(f.ranks), f.err)
	}
	if status == StatusAllow {
		fmt.Fprintf(a.stderr, "tiergate register: engine %s: %s admitted\n", r.engine, topology.RankList(r.ranks))
	}
	return status.orNil()
}

// failure is what went wrong, in the words of the first of the ranks.
type failure struct {
	status Status
	err    error
	ranks  []int64
}

// alike puts ranks together whose failures have the same consequence: they say the same with numbers of their own. It leaves
// out ranks that failed only because another did.
func (r *registering) alike(failures []error) (list []failure) {
	for i, err := range failures {
		if err == nil || errors.Is(err, errElsewhere) {
			continue
		}
		status := registerStatus(err)
		at := slices.IndexFunc(list, func(f failure) bool { return f.status == status })
		if at < 0 {
			list, at = append(list, failure{status: status, err: err}), len(list)
		}
		list[at].ranks = append(list[at].ranks, r.ranks[i])
	}
	return list
}

// rejected writes the answer that all ranks of the engine get.
func (r *registering) rejected(ctx context.Context, a *app, err *gate.RejectedError) error {
	write := output.Reject(a.stderr, output.StyleFor(a.stderr, a.env), output.Rejection{
		Engine: r.engine, Admission: err.Admission, Verdict: err.Verdict, View: r.view(ctx, err.Admission.Attempt),
	})
	if write != nil {
		return write
	}
	return StatusDeny
}

// registerStatus classifies why a rank was not admitted.
func registerStatus(err error) Status {
	var ended *gate.EndedError
	var problem *v1.Problem
	var unusable *credentials.Error
	switch {
	case errors.As(err, &unusable):
		return StatusUsage
	case errors.As(err, &problem):
		_, status := problemFailure(problem)
		return status
	case errors.As(err, &ended), errors.Is(err, gate.ErrServiceLost), errors.Is(err, gate.ErrAnswer),
		errors.Is(err, gate.ErrLate), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return StatusTimeout
	}
	return StatusInternal
}
