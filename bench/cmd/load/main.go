// Command load puts `tiergate serve`, `opa run --server` with the peer policy, and a server that only decodes
// launches under the same load, in turns, and prints which requirements are met.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/tiergate/tiergate/bench"
	"github.com/tiergate/tiergate/bench/load"
)

var errNotMet = errors.New("a requirement is not met")

type options struct {
	tiergate, opa, echo string
	rounds              int
	plan                load.Plan
	variant             string
	same, strict        bool
}

func main() {
	var o options
	flag.StringVar(&o.tiergate, "tiergate", "bin/tiergate", "the tiergate program")
	flag.StringVar(&o.opa, "opa", "bin/opa", "the opa program")
	flag.StringVar(&o.echo, "echo", "bin/echodecode", "the echodecode program")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each server has its turn; the median counts")
	flag.IntVar(&o.plan.Connections, "connections", 8, "how many connections send at once")
	flag.DurationVar(&o.plan.Warmup, "warmup", 500*time.Millisecond, "how long a turn runs before it is measured")
	flag.DurationVar(&o.plan.Duration, "duration", 4*time.Second, "how long a turn is measured")
	flag.StringVar(&o.variant, "launch", string(bench.OK), "ok, bad or spread: how the workers are placed")
	flag.BoolVar(&o.same, "same", false, "send equal launches, whose verdicts Tiergate remembers, not ones of different engines")
	flag.BoolVar(&o.strict, "strict", false, "exit with 1 if a requirement is not met")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1) //nolint:gocritic // the deferred stop has nothing to do at the end of the process
	}
}

func run(ctx context.Context, o options) (err error) {
	targets, stop, err := start(ctx, o)
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return err
	}
	var rows []load.Row
	for _, workers := range []int{8, 64, 512} {
		row, err := measure(ctx, targets, workers, o)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	met, err := load.Report(os.Stdout, rows)
	if err == nil && o.strict && !met {
		return errNotMet
	}
	return err
}

// measure gives each server its turns at one size and takes the median of each number.
func measure(ctx context.Context, targets [3]target, workers int, o options) (load.Row, error) {
	launch := bench.Document(workers, bench.Variant(o.variant))
	if !o.same {
		launch = bytes.Replace(launch, []byte(`"id":"engine-a"`), []byte(`"id":"engine-`+vary+`"`), 1)
	}
	var rates [3][]float64
	var p50s, p99s [3][]time.Duration
	for range o.rounds {
		for i, t := range targets {
			result, err := load.Run(ctx, t.request(launch), o.plan)
			if err != nil {
				return load.Row{}, err
			}
			rates[i] = append(rates[i], result.Rate)
			p50s[i], p99s[i] = append(p50s[i], result.P50), append(p99s[i], result.P99)
		}
	}
	median := func(i int) load.Result {
		return load.Result{Rate: bench.Median(rates[i]), P50: bench.Median(p50s[i]), P99: bench.Median(p99s[i])}
	}
	return load.Row{Workers: workers, Tiergate: median(0), OPA: median(1), Echo: median(2)}, nil
}
