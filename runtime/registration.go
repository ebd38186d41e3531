package runtime

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime/internal/probe"
)

// registration is one rank on its way to its admission.
type registration struct {
	*session
	gate    *Gate
	member  *Membership
	path    string // of the engine
	report  v1.Report
	digest  string
	segment *probe.Segment // nil unless this rank leads and could make it
	log     *slog.Logger
	engine  *slog.Logger // log before the attempt is known

	// last is what the service last said of the attempt; empty if it knows none.
	last v1.Progress
	// Verdict and answers belong to the attempt with the id current.
	current string
	verdict *v1.Verdict
	answers []v1.ProbeAnswer
}

func (g *Gate) registration(m *Membership) (*registration, error) {
	key, err := engineKey(g.opts.Engine, &m.Engine, m.DataParallelRank)
	if err != nil {
		return nil, err
	}
	c, err := newClient(g.opts.URL, g.connect)
	if err != nil {
		return nil, err
	}
	r := &registration{
		session: newSession(c, &g.opts), gate: g, member: m, path: enginePath(key),
		report: v1.Report{
			Protocol: v1.Protocol, Incarnation: newIncarnation(), WorldSize: m.WorldSize, DataParallelRank: m.DataParallelRank,
			Groups: m.Groups, Configuration: configuration(&m.Engine),
		},
		engine: g.opts.Logger.With("engine", key, "rank", m.Rank),
	}
	r.log = r.engine
	r.digest, err = r.report.Configuration.Digest()
	return r, err
}

func enginePath(key string) string { return "/v1/engines/" + url.PathEscape(key) }

// admit takes all steps before the callback. The segment is gone when it returns: after the admission nobody opens it.
func (r *registration) admit(ctx context.Context) error {
	defer r.client.close()
	defer r.unlink()
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	r.prepare()
	admission, err := r.exchange(ctx)
	r.unlink()
	if err != nil {
		r.giveUp(ctx, err)
		return r.explained(err)
	}
	r.log.Info("admission received", "outcome", admission.Outcome, "code", admission.Code, "message", admission.Message)
	if err := r.believe(admission); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	return nil
}

// prepare collects facts and makes the segment if this rank leads a group. What fails is part of the report.
func (r *registration) prepare() {
	swept := probe.Sweep(r.gate.shm)
	facts := r.gate.opts.Collect()
	r.report.Facts = facts
	device := ""
	if facts.Shm != nil {
		device = facts.Shm.Device
	}
	r.log.Info("facts collected", "node", facts.Node, "boot_id", facts.BootID, "shm_device", device, "absent", len(facts.Absent),
		"swept", swept)
	if !r.member.leads() {
		return
	}
	segment, fail := probe.Make(r.gate.shm)
	if fail != nil {
		r.report.Segment = &v1.Segment{Error: fail}
		r.log.Warn("segment failed", "errno", fail.Errno, "detail", fail.Detail)
		return
	}
	r.segment = segment
	r.report.Segment = &v1.Segment{Name: segment.Name(), SHA256: segment.SHA256()}
	r.log.Info("segment ready", "name", segment.Name())
}

func (r *registration) unlink() {
	if r.segment == nil {
		return
	}
	if err := r.segment.Remove(); err != nil {
		r.log.Warn("segment left behind", "error", err)
	}
}

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
	path := r.path + "/ranks/" + strconv.FormatInt(r.member.Rank, 10)
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
	path := r.path + "/attempts/" + strconv.FormatInt(told.Attempt, 10) + "/ranks/" + strconv.FormatInt(r.member.Rank, 10) + "/probe"
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

// take reads an answer. An attempt that has ended leaves no time, and the deadline as it was.
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
