// Command tiergate decides whether an inference engine may bring up its KV-cache tiers on the machines it was given.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/tiergate/tiergate/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := cli.Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
