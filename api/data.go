package api

import (
	"context"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
)

// data answers POST /v1/data/{path} by the convention of OPA's data API. What OPA answers with an empty 200, an
// undefined document or an unknown path, is a problem here: clients have taken it for an allow.
func (x *exchange) data() error {
	q, err := parseQuery(x.r.URL)
	if err != nil {
		return err
	}
	decide := x.server.engine.Decide
	if path := x.c.Param("*"); path != policy.Verdict {
		decide = x.server.queried(path)
	}
	d, err := x.judge(enveloped, decide)
	if err != nil {
		return err
	}
	x.decision = d
	out := make([]byte, 0, len(d.JSON)+len(x.id)+32)
	out = append(append(out, `{"result":`...), d.JSON...)
	out = append(append(out, `,"decision_id":"`...), x.id...)
	x.answer(q, append(out, `"}`...))
	return nil
}

// queried decides by an entry point other than the verdict, whose result has no outcome.
func (s *Server) queried(path string) decider {
	return func(ctx context.Context, launch *v1.Launch) (policy.Decision, error) {
		result, err := s.engine.Query(ctx, path, launch)
		return policy.Decision{JSON: result}, err
	}
}
