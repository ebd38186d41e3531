package rollout

import (
	"errors"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
)

// findings are what an error has to say.
func findings(err error) (out []v1.PolicyFinding) {
	var list policy.Errors
	var one *policy.Error
	switch {
	case errors.As(err, &list):
		for _, e := range list {
			out = append(out, v1.PolicyFinding{File: e.File, Line: e.Row, Code: e.Code, Message: e.Message})
		}
	case errors.As(err, &one):
		out = append(out, v1.PolicyFinding{File: one.File, Line: one.Row, Code: one.Code, Message: one.Message})
	default:
		out = append(out, v1.PolicyFinding{Message: err.Error()})
	}
	return out
}
