package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/tiergate/tiergate/api/client"
)

// healthDeadline ends before the few seconds that orchestrators give their probes by default.
const healthDeadline = 2 * time.Second

type healthCmd struct {
	credentialFlags

	Server  string        `default:"http://127.0.0.1:8642" placeholder:"URL" help:"The service, or its diagnostic address: http://, https:// or unix://. Default ${default}."`
	Live    bool          `env:"-" help:"Ask only whether the process answers, not whether it takes launches and workers now."`
	Timeout time.Duration `env:"-" placeholder:"2s" help:"Give up after this time. Default 2s."`
}

func (healthCmd) Help() string {
	return `For probes in images that have no shell. Exit status: 0 ready (or live), 1 everything else. Plain HTTP is enough where the
service has a --diagnostic-addr, whatever its other addresses speak.`
}

// Run has only two statuses, other than its neighbours: what runs probes reserves the others.
func (c *healthCmd) Run(ctx context.Context, a *app) error {
	if c.Timeout <= 0 {
		c.Timeout = healthDeadline
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	state, err := c.ask(ctx)
	if err != nil {
		fmt.Fprintf(a.stdout, "not %s: %s: %s\n", state, c.Server, err)
		return StatusDeny
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s\n", state, c.Server)
	return err
}

func (c *healthCmd) ask(ctx context.Context) (string, error) {
	state := "ready"
	if c.Live {
		state = "live"
	}
	service, err := client.NewWith(c.Server, c.files())
	switch {
	case err != nil:
		return state, err
	case c.Live:
		return state, service.Live(ctx)
	}
	return state, service.Ready(ctx)
}
