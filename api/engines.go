package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous"
	"github.com/tiergate/tiergate/topology/document"
)

// takeReport answers PUT /v1/engines/{engine}/ranks/{rank}: the verdict when all ranks have reported, and until then who is
// missing.
func (x *exchange) takeReport() error {
	return answerWorker(x, document.Report, func(ctx context.Context, c *call, r *v1.Report, ignored []string) (any, bool, error) {
		if n := r.Configuration.Nnodes; n != nil && *n > 1 && !x.server.config.SharedRendezvous() {
			return nil, false, errAlone
		}
		p, err := x.server.rendezvous.Report(ctx, c.key, c.rank, r, c.wait)
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
		p, err := x.server.rendezvous.Probe(ctx, c.key, c.attempt, c.rank, probe, c.wait)
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
		a, err := s.Core(ctx, c.key, c.attempt, core, c.wait)
		switch {
		case err != nil:
			return nil, false, err
		case a != nil:
			x.admitted = a.Outcome
			return a, true, nil
		}
		view, err := s.Attempt(c.key, c.attempt)
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
		end, err := x.server.rendezvous.Revoke(ctx, c.key, c.attempt, *r)
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

// answerWorker takes a worker's document to the rendezvous and brings back a 200 with what the worker waits for, or a 202.
// While it waits it holds its connection and little else.
func answerWorker[T any](
	x *exchange, decode func([]byte, string) (*T, []string, error),
	ask func(context.Context, *call, *T, []string) (answer any, done bool, err error),
) error {
	c, err := x.call()
	if err != nil {
		return err
	}
	ctx, leave, err := x.server.waiting.enter(x.r.Context())
	if err != nil {
		return err
	}
	defer leave()
	document, ignored, err := receive(x, decode)
	if err != nil {
		return err
	}
	x.takeTime()
	answer, done, err := ask(ctx, &c, document, ignored) // the document is not used any more while it waits
	x.answerSoon()
	var ended *rendezvous.EndedError
	switch {
	case errors.As(err, &ended):
		x.attempt = &ended.End.Attempt
		return err
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	status := http.StatusOK
	if !done {
		status = http.StatusAccepted
	}
	x.sendDocument(status, c.query, encode(answer))
	return nil
}

// receive reads and decodes a body, as a guest of the queue.
func receive[T any](x *exchange, decode func([]byte, string) (*T, []string, error)) (*T, []string, error) {
	x.place = x.server.queue.guest()
	defer x.place.leave()
	b, err := readBody(x.r, &x.place, min(int64(x.server.config.MaxBody), document.MaxReportBytes))
	if err != nil {
		return nil, nil, err
	}
	defer b.free()
	ctx, cancel := context.WithTimeout(x.r.Context(), x.server.config.DecisionTimeout)
	defer cancel()
	if err := x.place.wait(ctx, int64(len(b.data)), b.yaml); err != nil {
		return nil, nil, err
	}
	return decode(b.data, b.mediaType)
}

// takeTime lifts the timeouts of reading and writing, which began with the request: an expired read timeout would look like a
// client that is gone. Errors are those of connections that have no timeouts.
func (x *exchange) takeTime() {
	conn := http.NewResponseController(x.w)
	_ = conn.SetReadDeadline(time.Time{})
	_ = conn.SetWriteDeadline(time.Time{})
}

// answerSoon begins the timeout of writing anew.
func (x *exchange) answerSoon() {
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(x.server.config.WriteTimeout))
}

// everybody is without a tenant as long as nobody is authenticated.
var everybody = rendezvous.Key{}
