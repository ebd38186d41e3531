package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/tiergate/tiergate/internal/cli/output"
	"github.com/tiergate/tiergate/policy"
)

type policyCheckCmd struct {
	verificationFlags `embed:""`

	Paths  []string `arg:"" optional:"" name:"path" env:"TIERGATE_POLICY" sep:"none" help:"Directories, bundles or files of rules and data; none checks the shipped rules."`
	Data   string   `placeholder:"FILE" help:"Take site data from this JSON or YAML file."`
	Output string   `short:"o" env:"-" enum:"text,json,yaml" default:"text" help:"Write text, json or yaml."`
}

// Run loads the rules beside those that ship and shows what would be in force. All that is wrong is reported at once.
func (c *policyCheckCmd) Run(ctx context.Context, a *app) error {
	l, err := newLocal(ctx, &policyFlags{verificationFlags: c.verificationFlags, Policy: c.Paths, Data: c.Data})
	if err != nil {
		return err
	}
	defer l.close()
	info, err := l.engine.Info()
	if err != nil {
		return err
	}
	if c.Output != output.Text {
		return output.WriteDocuments(a.stdout, c.Output, []any{info})
	}
	return writeChecks(a.stdout, info)
}

func writeChecks(w io.Writer, info policy.Info) error {
	width := 0
	for _, c := range info.Checks {
		width = max(width, len(c.ID))
	}
	for _, c := range info.Checks {
		fmt.Fprintf(w, "%-*s  %-6s  %s:%d\n", width, c.ID, inForce(c), c.File, c.Row)
		if c.Overridden != "" {
			fmt.Fprintf(w, "  set to %s; the rule itself says %s\n", c.Enforcement, c.Overridden)
		}
		if d := c.Disabled; d != nil {
			fmt.Fprintf(w, "  turned off by %s: %s\n", d.Owner, d.Reason)
		}
		for _, waiver := range c.Waivers {
			writeWaiver(w, waiver)
		}
	}
	_, err := fmt.Fprintf(w, "%d checks, revision %s\n", len(info.Checks), info.Revision)
	return err
}

// inForce is the enforcement of a check, or off.
func inForce(c *policy.Check) string {
	if c.Disabled != nil {
		return "off"
	}
	return c.Enforcement
}

func writeWaiver(w io.Writer, waiver policy.Waiver) {
	if waiver.Void != "" {
		fmt.Fprintf(w, "  void waiver for %q: %s\n", waiver.Engine, waiver.Void)
		return
	}
	if waiver.Expired {
		fmt.Fprintf(w, "  expired waiver for %q by %s, without effect since %s: %s\n",
			waiver.Engine, waiver.Owner, waiver.Expires, waiver.Reason)
		return
	}
	fmt.Fprintf(w, "  waived for %q by %s until %s: %s\n", waiver.Engine, waiver.Owner, waiver.Expires, waiver.Reason)
}
