package runtime

import (
	"context"
	"log/slog"
	"net/url"

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
	c, err := newClient(g.opts.URL, g.opts.Credentials, g.connect)
	if err != nil {
		return nil, err
	}
	c.trace = traceOf(g.opts.Environ)
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
	r.log.Info("facts collected", "node", facts.Node, "boot_id", facts.BootID, "shm_device", device,
		"absent", len(facts.Absent), "swept", swept)
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
