// Command load puts `tiergate serve`, `opa run --server` with the peer policy, and a server that only decodes launches under
// the same load, in turns, and prints which requirements are met.
package main

import (
	"context"
	"encoding/json"
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
	strict              bool
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

// target is a running server and how it wants to be asked.
type target struct {
	server *load.Server
	path   string
	// enveloped servers take the launch as the member input of an object.
	enveloped bool
}

func (t target) request(launch []byte) load.Request {
	body := launch
	if t.enveloped {
		body = append(append([]byte(`{"input":`), launch...), '}')
	}
	return load.Request{Addr: t.server.Addr, Path: t.path, Body: body}
}

// start starts Tiergate, OPA and the echo server, in this order, and makes sure that they decide. The function that it
// returns stops what was started, also after an error.
func start(ctx context.Context, o options) (targets [3]target, stop func() error, err error) {
	rules, err := os.MkdirTemp("", "peer")
	stop = func() error {
		errs := []error{os.RemoveAll(rules)}
		for _, t := range targets {
			if t.server != nil {
				errs = append(errs, t.server.Stop())
			}
		}
		return errors.Join(errs...)
	}
	if err != nil {
		return targets, stop, err
	}
	if err := bench.WritePeer(rules); err != nil {
		return targets, stop, err
	}
	for i, s := range []struct {
		program   string
		arguments func(addr string) []string
		target    target
	}{
		{o.tiergate, func(addr string) []string { return []string{"serve", "--addr", addr, "--log-level", "error"} }, target{path: "/v1/validate"}},
		{o.opa, func(addr string) []string {
			return []string{"run", "--server", "--addr", addr, "--log-level", "error", "--disable-telemetry", rules}
		}, target{path: bench.PeerPath, enveloped: true}},
		{o.echo, func(addr string) []string { return []string{"-addr", addr} }, target{path: "/v1/validate"}},
	} {
		targets[i] = s.target
		if targets[i].server, err = load.Start(ctx, s.program, s.arguments); err != nil {
			return targets, stop, err
		}
		if err := decides(ctx, targets[i]); err != nil {
			return targets, stop, fmt.Errorf("%s: %w", s.program, err)
		}
	}
	return targets, stop, nil
}

// decides makes sure that a server allows the launch that must be allowed, before its speed is of interest.
func decides(ctx context.Context, t target) error {
	answer, err := load.Fetch(ctx, t.request(bench.Document(8, bench.OK)))
	if err != nil {
		return err
	}
	var verdict struct {
		Outcome string `json:"outcome"`
		Result  struct {
			Outcome string `json:"outcome"`
		} `json:"result"`
	}
	if err := json.Unmarshal(answer, &verdict); err != nil {
		return fmt.Errorf("read verdict: %w", err)
	}
	if verdict.Outcome+verdict.Result.Outcome != "allow" {
		return fmt.Errorf("it answers %.200s, want allow", answer)
	}
	return nil
}
