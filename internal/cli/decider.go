package cli

import (
	"context"

	"github.com/tiergate/tiergate/api/client"
	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/runtime/credentials"
)

// decider answers launches with verdicts in JSON.
type decider interface {
	decide(ctx context.Context, launch *v1.Launch) ([]byte, error)
	close()
}

// local decides in this process.
type local struct {
	engine *policy.Engine
	opts   policy.Options
}

func newLocal(ctx context.Context, flags *policyFlags) (local, error) {
	opts, err := flags.options()
	if err != nil {
		return local{}, err
	}
	engine, err := policy.New(ctx, opts)
	return local{engine, opts}, err
}

func (l local) decide(ctx context.Context, launch *v1.Launch) ([]byte, error) {
	decision, err := l.engine.Decide(ctx, launch)
	return decision.JSON, err
}

// close has no error that a command about to end could act on.
func (l local) close() { _ = l.engine.Close(context.Background()) }

// remote asks a service.
type remote struct{ client *client.Client }

func newRemote(server string, shown credentials.Files) (remote, error) {
	c, err := client.NewWith(server, shown)
	if err != nil {
		return remote{}, usagef("--server: %s", err)
	}
	return remote{c}, nil
}

func (r remote) decide(ctx context.Context, launch *v1.Launch) ([]byte, error) {
	return r.client.ValidateJSON(ctx, launch)
}

func (remote) close() {}

// decider is the service where one is named. It decides by its own rules, so that others beside it would be a mistake.
func (c *validateCmd) decider(ctx context.Context) (decider, error) {
	switch {
	case c.Server == "":
		return newLocal(ctx, &c.policyFlags)
	case len(c.Policy) > 0 || c.Data != "":
		return nil, usagef("--policy and --data are for deciding here; the service of --server has its own")
	default:
		return newRemote(c.Server, c.files())
	}
}
