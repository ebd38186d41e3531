package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/compile"
)

// compileWasm compiles the files to one WebAssembly module with the given entry points.
func (p *parsed) compileWasm(ctx context.Context, entrypoints []string) ([]byte, error) {
	modules, err := p.modules()
	if err != nil {
		return nil, err
	}
	b := &bundle.Bundle{Data: map[string]any{}}
	files := slices.SortedFunc(slices.Values(p.files), func(a, b file) int { return strings.Compare(a.path, b.path) })
	// Build ends with formatting the texts, for a bundle that nobody here writes. That sets locations on terms which OPA's
	// parser shares between all modules of the process, a data race with whoever else parses; so it has nothing to format.
	unformatted := []byte("package none\n")
	for _, f := range files { // in order, so that equal sources give equal modules
		b.Modules = append(b.Modules, bundle.ModuleFile{URL: f.path, Path: f.path, Parsed: modules[f.path], Raw: unformatted})
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
