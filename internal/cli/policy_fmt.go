package cli

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
	"github.com/rogpeppe/go-internal/diff"

	"github.com/tiergate/tiergate/policy"
)

type policyFmtCmd struct {
	Paths []string `arg:"" name:"path" help:"Directories, or .rego files."`
	Write bool     `short:"w" xor:"mode" env:"-" help:"Write the files instead of standard output."`
	Diff  bool     `short:"d" aliases:"check" xor:"mode" env:"-" help:"Show what would change, and end with status 1 if anything would."`
}

// Run formats every file; one that cannot be parsed is reported and does not stop the others.
func (c *policyFmtCmd) Run(_ context.Context, a *app) error {
	files, err := regoFiles(c.Paths)
	if err != nil {
		return err
	}
	status := StatusAllow
	var broken policy.Errors
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return usagef("read rules: %s", err)
		}
		formatted, err := format.SourceWithOpts(file, text, format.Opts{RegoVersion: ast.RegoV1})
		if err != nil {
			broken = append(broken, policy.ParseErrors(err)...)
			continue
		}
		one, err := c.emit(a, file, text, formatted)
		if err != nil {
			return err
		}
		status = worse(status, one)
	}
	if broken != nil {
		return broken
	}
	return status.orNil()
}

// regoFiles lists the rule files among and under paths.
func regoFiles(paths []string) (files []string, err error) {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && (filepath.Ext(file) == ".rego" || file == path) {
				files = append(files, file)
			}
			return err
		})
		if err != nil {
			return nil, usagef("find rules: %s", err)
		}
	}
	return files, nil
}

// emit does with a formatted file what the flags say.
func (c *policyFmtCmd) emit(a *app, file string, text, formatted []byte) (Status, error) {
	changed := !bytes.Equal(text, formatted)
	var err error
	switch {
	case c.Diff && changed:
		_, err = a.stdout.Write(diff.Diff(file, text, file+" formatted", formatted))
		return StatusDeny, err
	case c.Write && changed:
		fmt.Fprintln(a.stdout, file)
		err = os.WriteFile(file, formatted, 0o644)
	case !c.Diff && !c.Write:
		_, err = a.stdout.Write(formatted)
	}
	return StatusAllow, err
}
