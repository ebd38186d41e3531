package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/cli/input"
	"github.com/tiergate/tiergate/internal/cli/output"
)

type validateCmd struct {
	inputFlags
	policyFlags
	credentialFlags
	Server  string        `placeholder:"URL" help:"Ask this service instead of deciding here: http://, https:// or unix://."`
	Output  string        `short:"o" env:"-" enum:"text,json,yaml,junit" default:"text" help:"Write text, json, yaml or junit."`
	Timeout time.Duration `default:"30s" help:"Give up after this time."`
	Verbose bool          `short:"v" env:"-" help:"Show every check, violation and row of the grid."`
	Grid    bool          `env:"-" help:"Draw the rank grid also where no group spans nodes."`
}

// inputFlags are the launches to read.
type inputFlags struct {
	Files []string `arg:"" optional:"" name:"file" help:"Launches or Kubernetes manifests in YAML or JSON; - is standard input."`
}

const inputHelp = `The launch is read from files, or is the command behind --:

    tiergate %[1]s engine.yaml lws.yaml
    kubectl get lws vllm -o yaml | tiergate %[1]s -
    tiergate %[1]s -- vllm serve model-x -tp 2 --nnodes 2

Exit status: 0 allow, 1 deny, 2 usage or unreadable input, 3 unknown, 4 timed out or service unreachable,
5 internal error. With several inputs it is the worst, in the order 5, 4, 2, 1, 3, 0.`

// Help is shown by --help.
func (validateCmd) Help() string { return fmt.Sprintf(inputHelp, "validate") }

// Run judges all inputs and writes one report.
func (c *validateCmd) Run(ctx context.Context, a *app) error {
	inputs, err := c.read(a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	results, status, err := c.judge(ctx, inputs)
	if err != nil {
		return err
	}
	style := output.StyleFor(a.stdout, a.env)
	style.Verbose, style.Grid = c.Verbose, c.Grid
	if err := output.New(c.Output, style).Write(a.stdout, results); err != nil {
		return err
	}
	return status.orNil()
}

// read returns the inputs that the command line names.
func (f *inputFlags) read(a *app) ([]input.Input, error) {
	switch {
	case a.command == nil && len(f.Files) == 0:
		return nil, usagef("name a file, - for standard input, or a command behind --")
	case a.command != nil && len(f.Files) > 0:
		return nil, usagef("name files or a command behind --, not both")
	case a.command != nil && len(a.command) == 0:
		return nil, usagef("there is no command behind --")
	case a.command != nil:
		return []input.Input{input.Command(a.command, a.env)}, nil
	default:
		return input.Files(f.Files, a.stdin), nil
	}
}

// judge decides about every input that could be read. An error means that none could be decided about.
func (c *validateCmd) judge(ctx context.Context, inputs []input.Input) ([]output.Result, Status, error) {
	decider, err := c.decider(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer decider.close()
	results, status := make([]output.Result, len(inputs)), StatusAllow
	for i, in := range inputs {
		result, one := judgeOne(ctx, decider, in)
		results[i], status = result, worse(status, one)
	}
	return results, status, nil
}

func judgeOne(ctx context.Context, d decider, in input.Input) (output.Result, Status) {
	result, err := output.Result{Source: in.Source, Launch: in.Launch}, in.Err
	if err == nil {
		result.JSON, err = d.decide(ctx, in.Launch)
	}
	if err == nil {
		result.Verdict = new(v1.Verdict)
		err = json.Unmarshal(result.JSON, result.Verdict)
	}
	if err != nil {
		failure, status := explainFailure(err)
		if failure.Line == 0 && failure.Pointer != "" {
			failure.Line = in.LineOf(failure.Pointer)
		}
		return output.Result{Source: in.Source, Failure: failure}, status
	}
	return result, verdictStatus(result.Verdict)
}
