package rego_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/rego"
)

// TestRules runs the test_ rules in OPA's interpreter; package policy runs them in the WebAssembly that enforces too.
func TestRules(t *testing.T) {
	ctx := context.Background()
	store := inmem.New()
	txn, err := store.NewTransaction(ctx)
	require.NoError(t, err)
	defer store.Abort(ctx, txn)
	runner := tester.NewRunner().SetCompiler(compiler(t)).SetStore(store).SetModules(modules(t)).RaiseBuiltinErrors(true)
	results, err := runner.RunTests(ctx, txn)
	require.NoError(t, err)
	checked := map[string]bool{}
	for r := range results {
		checked[r.Package] = true
		t.Run(strings.TrimPrefix(r.Package, "data.tiergate.")+"."+r.Name, func(t *testing.T) {
			assert.NoError(t, r.Error)
			assert.False(t, r.Fail, "%s: %s", r.Location, failed(r))
		})
	}
	for file, m := range modules(t) {
		if strings.HasPrefix(file, "checks/") && !strings.HasSuffix(file, "_test.rego") {
			assert.Contains(t, checked, m.Package.Path.String()+"_test", "%s has no tests", file)
		}
	}
}

// failed names the cases of a test that do not hold.
func failed(r *tester.Result) (names []string) {
	for name, sub := range r.SubResults {
		if sub.Fail {
			names = append(names, name)
		}
	}
	return names
}

// TestTypes compiles all rules against the schema of the facts, in strict mode.
func TestTypes(t *testing.T) {
	c := compiler(t)
	c.Compile(modules(t))
	require.False(t, c.Failed(), "%v", c.Errors)
}

// TestTypo shows that the schema is in force: a field that the facts do not have is no undefined value but an error.
func TestTypo(t *testing.T) {
	for ref, want := range map[string]string{
		"input.engine.paralel":                        "undefined ref: input.engine.paralel",
		"input.groups.tp.spaning[_]":                  "undefined ref: input.groups.tp.spaning[_]",
		"input.transfer.connectors[_].config.any.key": "",
	} {
		m, err := ast.ParseModule("typo.rego", "package typo\n\np if "+ref)
		require.NoError(t, err)
		c := compiler(t)
		c.Compile(map[string]*ast.Module{"typo.rego": m})
		if want == "" {
			assert.False(t, c.Failed(), "%s: %v", ref, c.Errors)
		} else {
			assert.ErrorContains(t, c.Errors, want)
		}
	}
}

// TestFormat keeps the files as opa fmt writes them.
func TestFormat(t *testing.T) {
	for file, text := range sources(t) {
		formatted, err := format.Source(file, text)
		require.NoError(t, err)
		assert.Equal(t, string(formatted), string(text), "run opa fmt on %s", file)
	}
}

func compiler(t *testing.T) *ast.Compiler {
	t.Helper()
	text, err := rego.FS.ReadFile(schemaFile)
	require.NoError(t, err)
	var schema any
	require.NoError(t, json.Unmarshal(text, &schema))
	set := ast.NewSchemaSet()
	set.Put(ast.SchemaRootRef, schema)
	return ast.NewCompiler().WithSchemas(set).WithStrict(true)
}

func modules(t *testing.T) map[string]*ast.Module {
	t.Helper()
	parsed := map[string]*ast.Module{}
	for file, text := range sources(t) {
		m, err := ast.ParseModuleWithOpts(file, string(text), ast.ParserOptions{ProcessAnnotation: true})
		require.NoError(t, err)
		parsed[file] = m
	}
	return parsed
}

func sources(t *testing.T) map[string][]byte {
	t.Helper()
	texts := map[string][]byte{}
	require.NoError(t, fs.WalkDir(rego.FS, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".rego" {
			return err
		}
		text, err := rego.FS.ReadFile(file)
		texts[file] = text
		return err
	}))
	return texts
}
