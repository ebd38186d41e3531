//go:build linux

// Command soak loads one `tiergate serve` with twice what it can do, beside clients that misbehave and while its policy
// changes, and prints which requirements are met. It exits with 1 if one is not, and with 2 if it could not tell.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"github.com/tiergate/tiergate/bench/soak"
)

func main() {
	var plan soak.Plan
	flag.StringVar(&plan.Program, "tiergate", "bin/tiergate", "the tiergate program")
	flag.DurationVar(&plan.Duration, "duration", 3*time.Minute, "how long the load lasts")
	flag.Uint64Var(&plan.Seed, "seed", 1, "what the load is drawn from")
	flag.BoolVar(&plan.Shared, "shared", false, "let the service have all processors, together with this program, not half of them alone")
	flag.BoolVar(&plan.Still, "still", false, "leave the policy as it is, to see what its changes cost")
	flag.Parse()
	debug.SetGCPercent(400) // pauses of this program would look like the service's
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	met, err := run(ctx, plan)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	case !met:
		os.Exit(1)
	}
}

func run(ctx context.Context, plan soak.Plan) (met bool, err error) {
	if plan.Dir, err = os.MkdirTemp("", "soak"); err != nil {
		return false, err
	}
	defer os.RemoveAll(plan.Dir) //nolint:errcheck // a temporary directory
	start := time.Now()
	plan.Say = func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%4.0fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	outcome, err := soak.Run(ctx, plan)
	if err != nil {
		return false, err
	}
	return outcome.Report(os.Stdout)
}
