package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/compile"
)

// compileWasm compiles modules to one WebAssembly module with the given entry points.
func compileWasm(ctx context.Context, modules map[string]*ast.Module, entrypoints []string) ([]byte, error) {
	b := &bundle.Bundle{Data: map[string]any{}}
	paths := make([]string, 0, len(modules))
	for path := range modules {
		paths = append(paths, path)
	}
	slices.Sort(paths) // equal sources give equal modules
	for _, path := range paths {
		m := modules[path].Copy()
		b.Modules = append(b.Modules, bundle.ModuleFile{URL: path, Path: path, Parsed: m, Raw: []byte(path)})
	}
	b.Manifest.Init()
	b.SetRegoVersion(ast.RegoV1)
	c := compile.New().WithTarget(compile.TargetWasm).WithEntrypoints(entrypoints...).WithBundle(b).
		WithCapabilities(capabilities()).WithRegoVersion(ast.RegoV1)
	if err := c.Build(ctx); err != nil {
		return nil, fromOPA(err, CodeCompile)
	}
	out := c.Bundle().WasmModules
	if len(out) != 1 {
		return nil, fmt.Errorf("compile policy: %d modules instead of 1", len(out))
	}
	if len(out[0].Raw) == 0 {
		return nil, errors.New("compile policy: empty module")
	}
	return out[0].Raw, nil
}
