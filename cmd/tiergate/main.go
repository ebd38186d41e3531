// Command tiergate decides whether an inference engine may bring up its KV-cache tiers on the machines it was given.
package main

import (
	"context"
	"os"

	"github.com/tiergate/tiergate/internal/cli"
)

func main() {
	ctx, stop := cli.WithSignals(context.Background(), os.Stderr)
	status := cli.Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
