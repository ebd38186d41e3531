package api

import (
	"bytes"
	"context"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology/document"
)

// takeReport answers PUT /v1/engines/{engine}/ranks/{rank}: the verdict when all ranks have reported, and until then who is
// missing.
func (x *exchange) takeReport() error {
	return answerWorker(x, document.Report, func(ctx context.Context, c *call, r *v1.Report, ignored []string) (any, bool, error) {
		if n := r.Configuration.Nnodes; n != nil && *n > 1 && !x.server.config.SharedRendezvous() {
			return nil, false, errAlone
		}
		p, err := x.server.rendezvous.Report(ctx, c.caller, c.rank, r, c.wait)
		if err != nil {
			return nil, false, err
		}
		p.Ignored = ignored
		x.tell(p)
		return p, p.Verdict != nil || p.Admission != nil, nil
	})
}

var errAlone = &refusal{v1.CodeNoSharedRendezvous, "the engine spans several nodes, and this service can only be reached from its own: " +
	"the other workers would never meet here; have all workers ask one service, one that listens beyond its machine or uses NATS"}

// takeProbe answers PUT /v1/engines/{engine}/attempts/{n}/ranks/{rank}/probe: the admission when all ranks have answered.
func (x *exchange) takeProbe() error {
	return answerWorker(x, document.Probe, func(ctx context.Context, c *call, probe *v1.Probe, ignored []string) (any, bool, error) {
		p, err := x.server.rendezvous.Probe(ctx, c.caller, c.attempt, c.rank, probe, c.wait)
		if err != nil {
			return nil, false, err
		}
		p.Ignored = ignored
		x.tell(p)
		return p, p.Admission != nil, nil
	})
}

// takeCore answers PUT /v1/engines/{engine}/attempts/{n}/core: the core's admission when the workers have theirs.
func (x *exchange) takeCore() error {
	return answerWorker(x, document.Core, func(ctx context.Context, c *call, core *v1.CoreReport, ignored []string) (any, bool, error) {
		s := x.server.rendezvous
		a, err := s.Core(ctx, c.caller, c.attempt, core, c.wait)
		switch {
		case err != nil:
			return nil, false, err
		case a != nil:
			x.admitted = a.Outcome
			x.recordCore(c.caller.Key, a)
			return a, true, nil
		}
		view, err := s.Attempt(c.caller.Key, c.attempt)
		if err != nil {
			return nil, false, err
		}
		return &v1.Progress{
			Attempt: view.Attempt, AttemptID: view.AttemptID, Phase: view.Phase, RemainingMS: view.RemainingMS, Ignored: ignored,
		}, false, nil
	})
}

// revoke answers DELETE /v1/engines/{engine}/attempts/{n}. The body may be left out.
func (x *exchange) revoke() error {
	decode := func(data []byte, mediaType string) (*v1.Revocation, []string, error) {
		r := new(v1.Revocation)
		if len(bytes.TrimSpace(data)) == 0 {
			return r, nil, nil
		}
		return r, nil, document.Decode(data, mediaType, r)
	}
	return answerWorker(x, decode, func(ctx context.Context, c *call, r *v1.Revocation, _ []string) (any, bool, error) {
		end, err := x.server.rendezvous.Revoke(ctx, c.caller, c.attempt, *r)
		return end, true, err
	})
}

// tell notes for the log what a rank is told.
func (x *exchange) tell(p *v1.Progress) {
	x.attempt = &p.Attempt
	switch {
	case p.Admission != nil:
		x.admitted = p.Admission.Outcome
	case p.Verdict != nil:
		x.admitted = p.Verdict.Outcome
	}
}
