package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/tiergate/tiergate/policy"
)

type policyBuildCmd struct {
	verificationFlags `embed:""`

	Paths  []string `arg:"" optional:"" name:"path" env:"TIERGATE_POLICY" sep:"none" help:"Directories, bundles or files of rules and data that add to the shipped rules."`
	Data   string   `placeholder:"FILE" help:"Take site data from this JSON or YAML file."`
	Output string   `short:"o" required:"" env:"-" placeholder:"FILE" help:"Write the bundle here, e.g. bundle.tar.gz."`
}

// Run builds the bundle in memory first, so that a policy that is refused leaves no half of one behind.
func (c *policyBuildCmd) Run(ctx context.Context, a *app) error {
	list, err := sources(c.Paths, &c.verificationFlags)
	if err != nil {
		return err
	}
	data, err := dataFile(c.Data)
	if err != nil {
		return err
	}
	var bundle bytes.Buffer
	revision, err := policy.WriteBundle(ctx, &bundle, list, data, c.Data)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.Output, bundle.Bytes(), 0o644); err != nil {
		return usagef("write bundle: %s", err)
	}
	_, err = fmt.Fprintf(a.stdout, "%s: revision %s, %d bytes\n", c.Output, revision, bundle.Len())
	return err
}
