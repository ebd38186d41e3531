package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/tiergate/tiergate/bench"
	"github.com/tiergate/tiergate/bench/load"
)

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
	r := load.Request{Addr: t.server.Addr, Path: t.path, Body: body}
	if bytes.Contains(body, []byte(vary)) {
		r.Vary = vary
	}
	return r
}

// vary stands in the engine id of launches that are to differ.
const vary = "000000000"

// start starts Tiergate, OPA and the echo server, in this order, and makes sure that they decide. The function that
// it returns stops what was started, also after an error.
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
		{o.tiergate, func(addr string) []string {
			return []string{"serve", "--addr", addr, "--log-level", "error"}
		}, target{path: "/v1/validate"}},
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
