package cli

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/tiergate/tiergate/policy"
)

type policyTestCmd struct {
	verificationFlags `embed:""`

	Paths   []string      `arg:"" optional:"" name:"path" env:"TIERGATE_POLICY" sep:"none" help:"Directories, bundles or files of rules and tests; none runs the tests of the shipped rules."`
	Data    string        `placeholder:"FILE" help:"Take site data from this JSON or YAML file."`
	Verbose bool          `short:"v" env:"-" help:"Show tests that pass, with their time."`
	Filter  string        `name:"run" env:"-" placeholder:"REGEX" help:"Run only tests whose path matches."`
	Timeout time.Duration `default:"5s" env:"-" help:"Give up on a test after this time."`
}

// Run runs tests and ends with status 1 if one does not pass.
func (c *policyTestCmd) Run(ctx context.Context, a *app) error {
	opts := policy.TestOptions{Timeout: c.Timeout, DataName: c.Data}
	var err error
	if opts.Run, err = regexp.Compile(c.Filter); err != nil {
		return usagef("--run: %s", err)
	}
	if opts.Data, err = dataFile(c.Data); err != nil {
		return err
	}
	list, err := sources(c.Paths, &c.verificationFlags)
	if err != nil {
		return err
	}
	results, err := policy.Test(ctx, list, opts)
	if err != nil {
		return err
	}
	if len(results) == 0 {
		return usagef("no test was found: tests are rules that begin with test_ in files that end in _test.rego")
	}
	return c.report(a.stdout, results)
}

func (c *policyTestCmd) report(w io.Writer, results []policy.TestResult) error {
	counts, differ := map[string]int{}, 0
	for _, r := range results {
		counts[r.Outcome]++
		word := r.Outcome
		if r.Differs {
			differ++
			word = "differs"
		}
		if r.Outcome == policy.TestPass && !c.Verbose {
			continue
		}
		fmt.Fprintf(w, "%-7s %s (%s) %s:%d\n", strings.ToUpper(word), r.Name, r.Duration.Round(time.Microsecond), r.File, r.Row)
		if r.Detail != "" {
			fmt.Fprintf(w, "        %s\n", strings.ReplaceAll(r.Detail, "\n", "\n        "))
		}
	}
	fmt.Fprintf(w, "%d of %d tests pass", counts[policy.TestPass], len(results))
	for _, outcome := range []string{policy.TestFail, policy.TestError, policy.TestSkip} {
		if n := counts[outcome]; n > 0 {
			fmt.Fprintf(w, ", %d %s", n, outcome)
		}
	}
	if differ > 0 {
		fmt.Fprintf(w, "; in %d of them WebAssembly and interpreter differ\n", differ)
	} else {
		fmt.Fprintln(w, "; WebAssembly and interpreter agree")
	}
	if counts[policy.TestFail]+counts[policy.TestError] > 0 {
		return StatusDeny
	}
	return nil
}
