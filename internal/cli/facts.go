package cli

import (
	"context"

	"github.com/tiergate/tiergate/internal/cli/output"
	"github.com/tiergate/tiergate/runtime"
)

type factsCmd struct {
	Output string `short:"o" env:"-" enum:"text,json,yaml" default:"text" help:"Write text, json or yaml."`
}

// Help is shown by --help.
func (factsCmd) Help() string {
	return `Run it where the engine runs, in the same container and as the same user: another container of the pod may have
another /dev/shm. Its answer is always status 0: facts are no verdict.`
}

// Run writes the facts of this process.
func (c *factsCmd) Run(_ context.Context, a *app) error {
	facts := runtime.Facts(a.env)
	return output.NodeFacts(a.stdout, c.Output, output.StyleFor(a.stdout, a.env), &facts)
}
