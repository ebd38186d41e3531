package cli

import (
	"context"
	"fmt"

	"github.com/tiergate/tiergate/internal/config"
	"github.com/tiergate/tiergate/policy"
)

// shadowEngine loads the candidate that serve tries beside its policy, with the same data; nil if there is none.
func shadowEngine(ctx context.Context, serve *config.Serve) (*policy.Engine, error) {
	if len(serve.Shadow) == 0 {
		return nil, nil
	}
	flags := policyFlags{verificationFlags: signedBy(serve), Policy: serve.Shadow, Data: serve.Data, CacheDir: serve.CacheDir}
	opts, err := flags.options()
	if err != nil {
		return nil, err
	}
	engine, err := policy.New(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("shadow: %w", err)
	}
	return engine, nil
}
