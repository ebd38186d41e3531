package cli

import (
	"context"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
)

// decider answers launches with verdicts in JSON.
type decider interface {
	decide(ctx context.Context, launch *v1.Launch) ([]byte, error)
	close()
}

// local decides in this process.
type local struct{ engine *policy.Engine }

func newLocal(ctx context.Context, flags *policyFlags) (local, error) {
	opts, err := flags.options()
	if err != nil {
		return local{}, err
	}
	engine, err := policy.New(ctx, opts)
	return local{engine}, err
}

func (l local) decide(ctx context.Context, launch *v1.Launch) ([]byte, error) {
	decision, err := l.engine.Decide(ctx, launch)
	return decision.JSON, err
}

// close has no error that a command about to end could act on.
func (l local) close() { _ = l.engine.Close(context.Background()) }

func (c *validateCmd) decider(ctx context.Context) (decider, error) {
	return newLocal(ctx, &c.policyFlags)
}
