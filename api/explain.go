package api

import (
	"context"
	"encoding/json"
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
)

// explanation is what explains a verdict: the rules behind its checks and, in full, the facts that these saw.
type explanation struct {
	Checks []*policy.Check `json:"checks"`
	Facts  json.RawMessage `json:"facts,omitempty"`
}

// explained decides and adds an explanation to the verdict.
func (s *Server) explained(level string) decider {
	return func(ctx context.Context, launch *v1.Launch) (policy.Decision, error) {
		for {
			d, err := s.engine.Decide(ctx, launch)
			if err != nil {
				return d, err
			}
			info, err := s.engine.Info()
			if err != nil {
				return d, err
			}
			if info.Revision != d.Revision {
				continue // The policy was swapped in between; rules must not explain the verdict of others.
			}
			e := explanation{Checks: info.Checks}
			if level == explainFull {
				if e.Facts, err = s.engine.Facts(launch); err != nil {
					return d, err
				}
			}
			// The engine remembers the verdict, so that nothing may be written over its end.
			d.JSON = append(slices.Clip(d.JSON[:len(d.JSON)-1]), `,"explanation":`...)
			d.JSON = append(append(d.JSON, encode(e)...), '}')
			return d, nil
		}
	}
}
