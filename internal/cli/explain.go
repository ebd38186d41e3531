package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tiergate/tiergate/internal/cli/input"
	"github.com/tiergate/tiergate/internal/cli/output"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
)

type explainCmd struct {
	inputFlags
	policyFlags
	engineFlags
	Output  string        `short:"o" env:"-" enum:"text,json,yaml" default:"text" help:"Write text, json or yaml."`
	Timeout time.Duration `default:"30s" help:"Give up after this time."`
	Verbose bool          `short:"v" env:"-" help:"Show facts in full, and every violation and row of the grid."`
}

// Help is shown by --help.
func (explainCmd) Help() string {
	return fmt.Sprintf(inputHelp, "explain") + `

With --engine, it is an engine that reports, or has reported, at a service:

    tiergate explain --engine chat --server http://10.0.0.7:8642`
}

// Run explains all inputs.
func (c *explainCmd) Run(ctx context.Context, a *app) error {
	style := output.StyleFor(a.stdout, a.env)
	style.Verbose = c.Verbose
	if c.Engine != "" {
		if a.command != nil || len(c.Files) > 0 {
			return usagef("name a launch or --engine, not both")
		}
		ctx, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		return c.engineFlags.run(ctx, a, c.Output, style)
	}
	inputs, err := c.read(a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	l, err := newLocal(ctx, &c.policyFlags)
	if err != nil {
		return err
	}
	defer l.close()
	tracer, err := policy.NewTracer(l.opts)
	if err != nil {
		return err
	}
	list, status := make([]output.Explanation, len(inputs)), StatusAllow
	for i, in := range inputs {
		explanation, one := l.explain(ctx, tracer, in)
		list[i], status = explanation, worse(status, one)
	}
	if err := output.Explain(a.stdout, c.Output, style, list); err != nil {
		return err
	}
	return status.orNil()
}

// explain judges one input and adds what the rules saw.
func (l local) explain(ctx context.Context, tracer *policy.Tracer, in input.Input) (output.Explanation, Status) {
	result, status := judgeOne(ctx, l, in)
	e := output.Explanation{Result: result}
	if result.Failure != nil {
		return e, status
	}
	err := l.addFacts(&e)
	if err == nil {
		err = addEvidence(ctx, tracer, &e)
	}
	if err != nil {
		failure, status := explainFailure(err)
		return output.Explanation{Result: output.Result{Source: in.Source, Failure: failure}}, status
	}
	return e, status
}

func (l local) addFacts(e *output.Explanation) error {
	info, err := l.engine.Info()
	if err != nil {
		return err
	}
	e.Checks = info.Checks
	if e.Raw, err = l.engine.Facts(e.Launch); err != nil {
		return err
	}
	e.Facts = new(topology.Facts)
	return json.Unmarshal(e.Raw, e.Facts)
}

func addEvidence(ctx context.Context, tracer *policy.Tracer, e *output.Explanation) (err error) {
	e.Evidence = map[string][]policy.Evidence{}
	for _, c := range e.Verdict.Checks {
		if e.Evidence[c.ID], err = tracer.Trace(ctx, c.ID, c.Outcome, e.Raw); err != nil {
			return err
		}
	}
	return nil
}
