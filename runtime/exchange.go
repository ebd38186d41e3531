package runtime

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime/internal/probe"
)

// exchange reports and answers until there is an admission. A service that does not know the attempt gets the same
// report again: it has lost all attempts and opens another one, or it is a replica that has not heard of this one yet.
func (r *registration) exchange(ctx context.Context) (*v1.Admission, error) {
	var pause backoff
	for {
		progress, err := r.tell(ctx)
		if err == nil && progress.Admission == nil {
			progress, err = r.prove(ctx, progress)
		}
		switch {
		case err == nil:
			return progress.Admission, nil
		case !gone(err):
			return nil, err
		}
		r.log.Info("attempt forgotten", "error", err)
		r.failure, r.clock.phase, r.last = err, time.Time{}, v1.Progress{}
		r.pause = pause
		if err := r.rest(ctx, 0); err != nil {
			return nil, err
		}
		pause = r.pause
	}
}

// tell sends the report until there is a verdict or an admission.
func (r *registration) tell(ctx context.Context) (*v1.Progress, error) {
	body := func() any {
		r.report.DeadlineMS = max(time.Until(r.clock.own), shortestDeadline).Milliseconds()
		return &r.report
	}
	log := r.log
	sent := sync.OnceFunc(func() { log.Info("report sent") })
	path := fmt.Sprintf("%s/ranks/%d", r.path, r.member.Rank)
	text, err := r.poll(ctx, request{http.MethodPut, path, body, sent, r.missing})
	if err != nil {
		return nil, err
	}
	progress, err := r.take(text)
	switch {
	case err != nil:
		return nil, err
	case progress.Admission != nil:
		return progress, nil
	case progress.Verdict == nil:
		return nil, r.client.unexpected("neither verdict nor admission")
	case len(progress.Segments) > len(probedKinds):
		return nil, r.client.unexpected("more segments than kinds of groups")
	}
	r.log.Info("verdict received", "outcome", progress.Verdict.Outcome, "groups", len(progress.Verdict.Probe),
		"segments", len(progress.Segments))
	return progress, nil
}

// prove sends what it read until there is an admission.
func (r *registration) prove(ctx context.Context, told *v1.Progress) (*v1.Progress, error) {
	if r.answers == nil {
		r.open(told.Segments)
	}
	answers := &v1.Probe{
		Protocol: v1.Protocol, AttemptID: told.AttemptID, Incarnation: r.report.Incarnation, Answers: r.answers,
	}
	log := r.log
	sent := sync.OnceFunc(func() { log.Info("answers sent") })
	path := fmt.Sprintf("%s/attempts/%d/ranks/%d/probe", r.path, told.Attempt, r.member.Rank)
	text, err := r.poll(ctx, request{http.MethodPut, path, func() any { return answers }, sent, r.missing})
	if err != nil {
		return nil, err
	}
	progress, err := r.take(text)
	if err == nil && progress.Admission == nil {
		return nil, r.client.unexpected("no admission")
	}
	return progress, err
}

// open opens all segments, also after one failed, and once in an attempt: leaders remove theirs after the admission,
// which may have been made of the answers that a first try brought.
func (r *registration) open(segments []v1.OpenSegment) {
	r.answers = make([]v1.ProbeAnswer, 0, len(segments))
	for _, segment := range segments {
		answer := probe.Read(r.gate.shm, segment.Name)
		answer.Kind = segment.Kind
		errno := ""
		if answer.Error != nil {
			errno = answer.Error.Errno
		}
		r.log.Info("segment opened", "kind", segment.Kind, "leader", segment.Leader, "name", segment.Name,
			"outcome", answer.Outcome, "errno", errno)
		r.answers = append(r.answers, answer)
	}
}

// missing takes in who is missing.
func (r *registration) missing(text []byte) error {
	progress, err := r.take(text)
	if err == nil && r.gate.opts.Waiting != nil {
		r.gate.opts.Waiting(*progress)
	}
	return err
}

// take reads an answer. One with an admission has no time left in it, and does not change the deadline.
func (r *registration) take(text []byte) (*v1.Progress, error) {
	progress := new(v1.Progress)
	if err := r.client.read(text, progress); err != nil {
		return nil, err
	}
	if progress.Attempt < 1 || progress.AttemptID == "" {
		return nil, r.client.unexpected("no attempt")
	}
	if progress.AttemptID != r.current {
		r.log = r.engine.With("attempt", progress.Attempt)
		r.current, r.verdict, r.answers = progress.AttemptID, nil, nil
	}
	if progress.Verdict != nil {
		r.verdict = progress.Verdict
	}
	if progress.Admission == nil {
		r.clock.heard(time.Now(), progress.RemainingMS)
	}
	r.last = *progress
	return progress, nil
}
