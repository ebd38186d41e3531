package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"

	opa "github.com/open-policy-agent/opa/v1/version"

	"github.com/tiergate/tiergate/internal/cli/output"
	"github.com/tiergate/tiergate/policy"
)

type versionCmd struct {
	Output string `short:"o" env:"-" enum:"text,json,yaml" default:"text" help:"Write text, json or yaml."`
}

// versions are what tells two builds apart.
type versions struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OPA     string `json:"opa"`
	Wazero  string `json:"wazero"`
	// Rules is the revision of the rules that ship.
	Rules string `json:"rules"`
}

// stampedVersion and stampedCommit are set by the linker where images are built: from a copy of the tree the toolchain
// knows neither.
var stampedVersion, stampedCommit string

// Run writes the versions.
func (c *versionCmd) Run(ctx context.Context, a *app) error {
	v := buildVersions()
	engine, err := policy.New(ctx, policy.Options{Instances: 1})
	if err != nil {
		return err
	}
	defer engine.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the process ends
	info, err := engine.Info()
	if err != nil {
		return err
	}
	v.Rules = info.Revision
	if c.Output != output.Text {
		return output.WriteDocuments(a.stdout, c.Output, []any{v})
	}
	_, err = fmt.Fprintf(a.stdout, "tiergate %s\ncommit   %s\ngo       %s\nopa      %s\nwazero   %s\nrules    %s\n",
		v.Version, v.Commit, v.Go, v.OPA, v.Wazero, v.Rules)
	return err
}

// buildVersions reads what the Go toolchain wrote into the binary.
func buildVersions() versions {
	v := versions{Version: "unknown", Commit: "unknown", OPA: opa.Version, Wazero: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version, v.Go = info.Main.Version, info.GoVersion
	for _, dep := range info.Deps {
		if dep.Path == "github.com/tetratelabs/wazero" {
			v.Wazero = dep.Version
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	v.Version = cmp.Or(stampedVersion, v.Version)
	v.Commit = cmp.Or(stampedCommit, v.Commit)
	return v
}
