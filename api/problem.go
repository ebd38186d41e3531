package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/access"
	"github.com/tiergate/tiergate/internal/rendezvous"
	"github.com/tiergate/tiergate/internal/webhook"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/document"
	"github.com/tiergate/tiergate/topology/vllm"
)

// refusal is a request that the server itself turns away, without asking the policy.
type refusal struct{ code, detail string }

func (r *refusal) Error() string { return r.code + ": " + r.detail }

var (
	errShuttingDown = &refusal{v1.CodeShuttingDown, "the service is shutting down; ask another one or try again later"}
	// errClientGone is only logged: nobody is left to read it.
	errClientGone = &refusal{codeClientGone, "the client closed the connection before it had its answer"}
)

// problemOf says what an error means to the client. The context is that of the request; it tells why an evaluation was
// stopped. Nothing that is not known here by type reaches the client, since it could tell of the service's insides.
func problemOf(ctx context.Context, err error) *v1.Problem {
	var (
		ready     *v1.Problem
		own       *refusal
		doc       *document.Error
		input     *topology.InputError
		engine    *vllm.Error
		evaluated *policy.Error
		known     *rendezvous.Error
		denied    *access.Error
		ended     *rendezvous.EndedError
		review    *webhook.Error
		routing   *echo.HTTPError
	)
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &own):
		return problem(own.code, own.detail)
	case errors.As(err, &denied):
		return problem(denied.Code, denied.Detail)
	case errors.As(err, &review):
		p := problem(review.Code, review.Detail)
		p.Pointer = review.Pointer
		return p
	case errors.As(err, &doc):
		p := problem(doc.Code, doc.Detail)
		p.Pointer, p.Line, p.Nearest = doc.Pointer, doc.Line, doc.Nearest
		return p
	case errors.As(err, &input):
		p := problem(input.Code, input.Detail)
		p.Pointer, p.Nearest = input.Pointer, input.Nearest
		return p
	case errors.As(err, &engine):
		p := problem(engine.Code, engine.Error()[len(engine.Pointer)+2:])
		p.Pointer = engine.Pointer
		return p
	case errors.As(err, &known):
		p := problem(known.Code, known.Detail)
		p.Pointer = known.Pointer
		return p
	case errors.As(err, &ended):
		p := problem(ended.End.Kind, ended.End.Message)
		p.End = &ended.End
		return p
	case errors.Is(err, policy.ErrNoEntrypoint):
		return problem(v1.CodeUnknownEntrypoint, err.Error())
	case errors.Is(err, policy.ErrClosed):
		return problemOf(ctx, errShuttingDown)
	case errors.Is(err, policy.ErrDeadline), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return stopped(ctx, err)
	case errors.As(err, &evaluated):
		return problem(evaluationCode(err), evaluated.Error())
	case errors.As(err, &routing) && routing.Code == http.StatusMethodNotAllowed:
		return problem(v1.CodeMethodNotAllowed, "this route has other methods; the Allow header names them")
	case errors.As(err, &routing) && routing.Code == http.StatusNotFound:
		return problem(v1.CodeNotFound, "no such route; GET /openapi.yaml describes those that there are")
	default:
		return problem(v1.CodeInternal, "the service failed; its log has the reason under this request's id")
	}
}

// stopped tells the three reasons apart for which an evaluation ends early.
func stopped(ctx context.Context, err error) *v1.Problem {
	var own *refusal
	switch {
	case errors.As(context.Cause(ctx), &own):
		return problem(own.code, own.detail)
	case ctx.Err() != nil:
		return problemOf(ctx, errClientGone)
	default:
		return problem(v1.CodeEvaluationDeadline, err.Error())
	}
}

func evaluationCode(err error) string {
	for _, way := range []struct {
		err  error
		code string
	}{
		{policy.ErrBudget, v1.CodeEvaluationBudget},
		{policy.ErrMemory, v1.CodeEvaluationMemory},
		{policy.ErrStack, v1.CodeEvaluationStack},
		{policy.ErrConflict, v1.CodeEvaluationConflict},
		{policy.ErrBuiltin, v1.CodeEvaluationBuiltin},
		{policy.ErrTrap, v1.CodeEvaluationTrap},
		{policy.ErrUndefined, v1.CodeUndefined},
	} {
		if errors.Is(err, way.err) {
			return way.code
		}
	}
	return v1.CodeInternal
}

func problem(code, detail string) *v1.Problem {
	k, known := catalogue[code]
	if !known {
		// A package below has learned a new code; its errors are about the document, since everything else is listed.
		k = kind{status: unjudgeable, title: "The launch cannot be judged"}
	}
	return &v1.Problem{Type: problemType + code, Title: k.title, Status: k.status, Code: code, Detail: detail}
}
