package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
)

// try takes a content through all stages. The candidate is what passed its tests, which the caller closes; the report tells
// whether it may be put in force.
func (r *Rollout) try(ctx context.Context, c *content, accepted []string) (*policy.Candidate, *v1.PolicyReport) {
	ctx, cancel := r.limited(ctx)
	defer cancel()
	report := &v1.PolicyReport{Stage: v1.StageCompile, Time: r.now(), Content: c.digest}
	candidate, err := r.engine.Prepare(ctx, c.sources, c.data)
	if err != nil {
		report.Findings = findings(err)
		return nil, report
	}
	report.Revision = candidate.Info().Revision
	if !r.opts.Untested {
		r.test(ctx, c, report)
		if report.Findings == nil {
			r.judge(ctx, c, candidate, report, slices.Concat(r.opts.Accept, accepted, candidate.AcceptedFlips()))
		}
	}
	switch {
	case report.Findings == nil:
		report.Stage = v1.StageActive
	case report.Stage != v1.StageLaunches:
		_ = candidate.Close(context.WithoutCancel(ctx)) // freeing has no failure that a reader could act on
		candidate = nil
	}
	return candidate, report
}

// limited is the time of one trial.
func (r *Rollout) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, r.opts.Timeout, fmt.Errorf("the trial took more than %s", r.opts.Timeout))
}

// test runs the tests that come with the sources, in the WebAssembly that decides.
func (r *Rollout) test(ctx context.Context, c *content, report *v1.PolicyReport) {
	if len(c.sources) == 0 {
		return // the shipped rules were tested when they were shipped
	}
	report.Stage = v1.StageTests
	results, err := policy.Test(ctx, c.sources, policy.TestOptions{Data: c.data, DataName: r.opts.DataFile})
	if err != nil {
		report.Findings = findings(err)
		return
	}
	for _, t := range results {
		switch t.Outcome {
		case policy.TestPass:
			report.Tests++
		case policy.TestSkip:
		default:
			report.Findings = append(report.Findings, v1.PolicyFinding{File: t.File, Line: t.Row, Code: "test_failed", Message: strings.TrimSpace(t.Name + ": " + t.Outcome + ": " + t.Detail)})
		}
	}
	if ctx.Err() != nil && report.Findings == nil {
		report.Findings = findings(context.Cause(ctx))
	}
}

// judge compares with what is in force over the stored launches.
func (r *Rollout) judge(ctx context.Context, c *content, candidate *policy.Candidate, report *v1.PolicyReport, accepted []string) {
	report.Stage = v1.StageLaunches
	launches, err := readLaunches(c.launches)
	if err := errors.Join(c.launchesErr, err); err != nil {
		report.Findings = findings(err)
		return
	}
	report.Flips, err = compare(ctx, r.engine, candidate, launches, r.now())
	if err != nil {
		report.Findings = findings(err)
		return
	}
	if accept(report.Flips, accepted) {
		return
	}
	for _, f := range report.Flips {
		if !f.Accepted {
			report.Findings = append(report.Findings, v1.PolicyFinding{File: f.Launch, Code: "verdict_flips", Message: flipText(f)})
		}
	}
}

// flipText is one line of the difference, with the name that accepts it.
func flipText(f v1.LaunchFlip) string {
	checks := make([]string, 0, len(f.Checks))
	for _, c := range f.Checks {
		checks = append(checks, fmt.Sprintf("%s %s -> %s", c.Check, c.From, c.To))
	}
	return fmt.Sprintf("%s; if that is meant, accept it by name: %s=%s", strings.Join(checks, ", "), f.Launch, f.To)
}
