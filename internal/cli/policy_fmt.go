package cli

import (
	"bytes"
	"errors"
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
	Diff  bool     `short:"d" xor:"mode" env:"-" help:"Show what would change, and end with status 1 if anything would."`
}

// Run formats every file; one that cannot be parsed is reported and does not stop the others.
func (c *policyFmtCmd) Run(a *app) error {
	files, err := regoFiles(c.Paths)
	if err != nil {
		return err
	}
	status := StatusAllow
	var broken policy.Errors
	for _, file := range files {
		one, errs, err := c.format(a, file)
		if err != nil {
			return err
		}
		status, broken = worse(status, one), append(broken, errs...)
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

func (c *policyFmtCmd) format(a *app, file string) (Status, policy.Errors, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, nil, usagef("read rules: %s", err)
	}
	formatted, err := format.SourceWithOpts(file, text, format.Opts{RegoVersion: ast.RegoV1})
	if err != nil {
		return 0, parseErrors(file, err), nil
	}
	switch {
	case c.Diff:
		if bytes.Equal(text, formatted) {
			return StatusAllow, nil, nil
		}
		_, err = a.stdout.Write(diff.Diff(file, text, file+" formatted", formatted))
		return StatusDeny, nil, err
	case c.Write:
		if bytes.Equal(text, formatted) {
			return StatusAllow, nil, nil
		}
		fmt.Fprintln(a.stdout, file)
		return StatusAllow, nil, os.WriteFile(file, formatted, 0o644)
	default:
		_, err = a.stdout.Write(formatted)
		return StatusAllow, nil, err
	}
}

// parseErrors gives the errors of OPA's parser the form of ours.
func parseErrors(file string, err error) policy.Errors {
	var list ast.Errors
	if !errors.As(err, &list) {
		return policy.Errors{{Code: policy.CodeParse, File: file, Message: err.Error()}}
	}
	var out policy.Errors
	for _, e := range list {
		out = append(out, &policy.Error{Code: policy.CodeParse, File: file, Row: e.Location.Row, Message: e.Message})
	}
	return out
}
