// Command collective compares the check at KV registration with vLLM's collectives over torch's gloo groups, with one
// process per rank, and prints which requirements are met.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/tiergate/tiergate/bench/collective"
	"github.com/tiergate/tiergate/bench/load"
	"github.com/tiergate/tiergate/e2e/worker"
)

var errNotMet = errors.New("a requirement is not met")

type options struct {
	tiergate, python string
	rounds           int
	effort           collective.Effort
	strict           bool
}

func main() {
	worker.Main() // the ranks are copies of this program
	var o options
	flag.StringVar(&o.tiergate, "tiergate", "bin/tiergate", "the tiergate program")
	flag.StringVar(&o.python, "python", "/usr/bin/python3", "a Python that has torch")
	flag.IntVar(&o.rounds, "rounds", 31, "how often Tiergate's check is measured; the median counts")
	flag.IntVar(&o.effort.Check, "peer-rounds", 21, "how often the peer's check is measured with groups that are there")
	flag.IntVar(&o.effort.Create, "peer-create-rounds", 3, "how often it is measured with groups made each time")
	flag.BoolVar(&o.strict, "strict", false, "exit with 1 if a requirement is not met")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "collective:", err)
		os.Exit(1) //nolint:gocritic // the deferred stop has nothing to do at the end of the process
	}
}

func run(ctx context.Context, o options) (err error) {
	var rows []collective.Row
	torch := ""
	for _, grid := range collective.Grids {
		row, err := ours(ctx, o, grid)
		if err != nil {
			return err
		}
		version, err := collective.Peer(ctx, o.python, &row, o.effort)
		switch {
		case errors.Is(err, collective.ErrNoTorch):
			fmt.Fprintf(os.Stderr, "collective: without the peer (install torch and name its -python): %v\n", err)
		case err != nil:
			return err
		default:
			torch = version
		}
		rows = append(rows, row)
	}
	if torch != "" {
		fmt.Printf("peer: torch %s\n", torch)
	}
	met, err := collective.Report(os.Stdout, rows)
	if err == nil && o.strict && !met {
		return errNotMet
	}
	return err
}

// ours has a service of its own for each grid, as an engine would have.
func ours(ctx context.Context, o options, grid collective.Grid) (row collective.Row, err error) {
	server, err := load.Start(ctx, o.tiergate, func(addr string) []string {
		return []string{"serve", "--addr", addr, "--log-level", "error"}
	})
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	return collective.Ours(ctx, "http://"+server.Addr, grid, o.rounds)
}
