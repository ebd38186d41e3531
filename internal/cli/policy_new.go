package cli

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/tiergate/tiergate/policy"
)

type policyNewCmd struct {
	ID  string `arg:"" name:"area.name" help:"The id of the check, e.g. platform.version."`
	Dir string `default:"." placeholder:"DIR" env:"-" help:"Write into this directory; it is made if it is not there."`
}

var (
	//go:embed template/check.rego
	newCheck string
	//go:embed template/check_test.rego
	newTest string

	checkID = regexp.MustCompile(`^([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)$`)
)

// Run writes a check and its test, which load and pass as they are. Nothing is overwritten.
func (c *policyNewCmd) Run(ctx context.Context, a *app) error {
	if err := c.validate(ctx); err != nil {
		return err
	}
	area, name, _ := strings.Cut(c.ID, ".")
	rules := filepath.Join(c.Dir, area, name+".rego")
	tests := filepath.Join(c.Dir, area, name+"_test.rego")
	for _, file := range []string{rules, tests} {
		if _, err := os.Lstat(file); err == nil {
			return usagef("%s is there already, and is left as it is; choose another id or another --dir", file)
		}
	}
	if err := os.MkdirAll(filepath.Dir(rules), 0o755); err != nil {
		return usagef("make directory: %s", err)
	}
	if err := writeNew(rules, newCheck, c.ID); err != nil {
		return err
	}
	if err := writeNew(tests, newTest, c.ID); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, `%[1]s
%[2]s

The check warns of an engine without an id. Next:
  1. tiergate policy test --watch %[3]s     keep it running while you edit
  2. edit %[1]s: what it looks at, what it says
  3. edit %[2]s: one test that passes, one that fails
  4. tiergate explain --policy %[3]s LAUNCH.yaml     try it on a launch; -o json shows every fact
  5. set enforcement: deny when nothing fails that should not, and serve with --policy %[3]s
`, rules, tests, c.Dir)
	return err
}

func (c *policyNewCmd) validate(ctx context.Context) error {
	id := checkID.FindStringSubmatch(c.ID)
	if id == nil {
		return usagef("%q is no id of a check: it is area.name, both of a-z, 0-9 and _, beginning with a letter, "+
			"e.g. platform.version", c.ID)
	}
	for _, part := range id[1:] {
		if ast.IsKeyword(part) || slices.Contains([]string{"input", "data", "true", "false", "null"}, part) {
			return usagef("%q is no id of a check: %s is a word of Rego; choose another", c.ID, part)
		}
	}
	if strings.HasSuffix(id[2], "_test") {
		return usagef("%q is no id of a check: files that end in _test.rego are tests; choose another name", c.ID)
	}
	engine, err := policy.New(ctx, policy.Options{Instances: 1})
	if err != nil {
		return err
	}
	defer engine.Close(ctx) //nolint:errcheck // the command is about to end
	info, err := engine.Info()
	if err != nil {
		return err
	}
	for _, shipped := range info.Checks {
		if shipped.ID == c.ID {
			return usagef("%s ships with Tiergate; change it by data.settings, or choose another id", c.ID)
		}
	}
	return nil
}

// writeNew refuses a file that came into being since it was looked for.
func writeNew(file, text, id string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s is there already, and is left as it is", file)
	}
	if err != nil {
		return usagef("write check: %s", err)
	}
	_, err = f.WriteString(strings.ReplaceAll(text, "{{.ID}}", id))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return usagef("write check: %s", err)
	}
	return nil
}
