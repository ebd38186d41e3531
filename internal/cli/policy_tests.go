package cli

import (
	"context"
	"io"
	"regexp"
	"time"

	"github.com/tiergate/tiergate/internal/cli/output"
	"github.com/tiergate/tiergate/policy"
)

type policyTestCmd struct {
	verificationFlags `embed:""`

	Paths     []string      `arg:"" optional:"" name:"path" env:"TIERGATE_POLICY" sep:"none" help:"Directories, bundles or files of rules and tests; none runs the tests of the shipped rules."`
	Data      string        `placeholder:"FILE" help:"Take site data from this JSON or YAML file."`
	Verbose   bool          `short:"v" env:"-" help:"Show tests that pass, with their time."`
	Filter    string        `name:"run" env:"-" placeholder:"REGEX" help:"Run only tests whose path matches."`
	Timeout   time.Duration `default:"5s" env:"-" help:"Give up on a test after this time."`
	Coverage  bool          `env:"-" help:"Show which lines of the rules no test reaches."`
	Threshold float64       `env:"-" placeholder:"PERCENT" help:"End with status 1 if the coverage is below this."`
	Output    string        `short:"o" env:"-" enum:"text,json,yaml,junit" default:"text" help:"Write text, json, yaml or junit."`
	Watch     bool          `env:"-" help:"Run again whenever rules, tests or data change, until Ctrl-C."`
}

// Help is shown by --help.
func (policyTestCmd) Help() string {
	return `Each test runs in the WebAssembly that enforces and in OPA's interpreter, and passes only if both say so. Coverage is
what the interpreter reaches, in lines that hold a rule's head or an expression.

Exit status: 0 all pass, 1 a test fails or the coverage is below the threshold, 2 rules or tests that do not load.`
}

// Run runs tests and ends with status 1 if one does not pass.
func (c *policyTestCmd) Run(ctx context.Context, a *app) error {
	filter, err := regexp.Compile(c.Filter)
	if err != nil {
		return usagef("--run: %s", err)
	}
	if c.Threshold < 0 || c.Threshold > 100 {
		return usagef("--threshold is %v, allowed is 0 to 100, in percent", c.Threshold)
	}
	if c.Watch {
		return c.watch(ctx, a, filter)
	}
	in, err := c.open()
	if err != nil {
		return err
	}
	return c.test(ctx, a.stdout, in, filter)
}

// testInput is what one run of the tests is about.
type testInput struct {
	sources []policy.Source
	data    []byte
}

func (c *policyTestCmd) open() (in testInput, err error) {
	if in.data, err = dataFile(c.Data); err != nil {
		return in, err
	}
	in.sources, err = sources(c.Paths, &c.verificationFlags)
	return in, err
}

func (c *policyTestCmd) test(ctx context.Context, w io.Writer, in testInput, filter *regexp.Regexp) error {
	opts := policy.TestOptions{Timeout: c.Timeout, Run: filter, Data: in.data, DataName: c.Data}
	if c.Coverage || c.Threshold > 0 {
		opts.Coverage = new(policy.Coverage)
	}
	results, err := policy.Test(ctx, in.sources, opts)
	if err != nil {
		return err
	}
	if len(results) == 0 {
		return usagef("no test was found: tests are rules that begin with test_ in files that end in _test.rego")
	}
	report := output.TestReport{Tests: results, Coverage: opts.Coverage, Threshold: c.Threshold}
	if err := report.Write(w, c.Output, c.Verbose); err != nil {
		return err
	}
	if !report.Passed() {
		return StatusDeny
	}
	return nil
}
