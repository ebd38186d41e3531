package bench

import (
	"context"
	"fmt"

	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology/document"
)

// Tiergate is the service's own path from a request body to a response body, with the rules that ship. It does not
// close its engine: it lives as long as the process. It remembers no verdicts, so that every one is decided.
func Tiergate(ctx context.Context) (Contender, error) {
	engine, err := policy.New(ctx, policy.Options{Verdicts: -1})
	if err != nil {
		return Contender{}, fmt.Errorf("load the shipped policy: %w", err)
	}
	return Contender{Name: "tiergate", Decide: func(ctx context.Context, text []byte) ([]byte, error) {
		launch, err := document.Launch(text, "application/json")
		if err != nil {
			return nil, err
		}
		decision, err := engine.Decide(ctx, launch)
		return decision.JSON, err
	}}, nil
}
