// Package regotest compiles Rego for the tests of the packages beside it. It must not be imported by anything else.
package regotest

import (
	"context"
	"fmt"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/compile"
	"github.com/stretchr/testify/require"
)

// Compile returns the WebAssembly module of Rego v1 sources, named m0.rego, m1.rego and so on, with the given entry
// points.
func Compile(tb testing.TB, entrypoints []string, sources ...string) []byte {
	tb.Helper()
	b := &bundle.Bundle{Data: map[string]any{}}
	for i, source := range sources {
		name := fmt.Sprintf("m%d.rego", i)
		parsed, err := ast.ParseModuleWithOpts(name, source, ast.ParserOptions{RegoVersion: ast.RegoV1})
		require.NoError(tb, err)
		b.Modules = append(b.Modules, bundle.ModuleFile{URL: name, Path: name, Parsed: parsed, Raw: []byte(source)})
	}
	b.Manifest.Init()
	b.SetRegoVersion(ast.RegoV1)
	c := compile.New().WithTarget(compile.TargetWasm).WithEntrypoints(entrypoints...).WithBundle(b).
		WithRegoVersion(ast.RegoV1)
	require.NoError(tb, c.Build(context.Background()))
	require.Len(tb, c.Bundle().WasmModules, 1)
	return c.Bundle().WasmModules[0].Raw
}
