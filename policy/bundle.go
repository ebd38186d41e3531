package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
)

// bundleWasm is where OPA's bundles keep their module.
const bundleWasm = "/policy.wasm"

// WriteBundle writes what an engine with these sources and data decides by as an OPA bundle, a gzipped tar: the rules that ship and
// the given ones with their tests, as they were written, the data document, the WebAssembly, and a manifest with the revision, which it
// returns. What is wrong with the policy comes as Errors, all of it.
//
// The manifest maps no entry points to the module, as `opa build -t wasm` would: with such a map, builds of OPA without a
// WebAssembly engine refuse the whole bundle, and the others leave the rules aside.
func WriteBundle(ctx context.Context, w io.Writer, sources []Source, data []byte, dataName string) (revision string, err error) {
	src, err := read(sources, data, dataName)
	if err != nil {
		return "", err
	}
	p, doc, err := prepare(src)
	if err != nil {
		return "", err
	}
	wasm, err := p.checkedWasm(ctx, append(p.exports(), brokenPath))
	if err != nil {
		return "", err
	}
	b := bundle.Bundle{
		Modules:     bundleModules(slices.Concat(p.files, siteTests(src.tests))),
		WasmModules: []bundle.WasmModuleFile{{URL: bundleWasm, Path: bundleWasm, Raw: wasm}},
	}
	if err := json.Unmarshal(doc, &b.Data); err != nil {
		return "", fmt.Errorf("read data: %w", err)
	}
	b.Manifest.Init()
	b.Manifest.Revision = revisionOf(digestOf(wasm, doc))
	b.Manifest.Metadata = map[string]any{"built_by": "tiergate"} // so that a reader knows that shipped rules are among them
	b.SetRegoVersion(ast.RegoV1)
	if err := bundle.NewWriter(w).DisableFormat(true).Write(b); err != nil {
		return "", fmt.Errorf("write bundle: %w", err)
	}
	return b.Manifest.Revision, nil
}

// siteTests are those that a service runs before it takes the bundle; the shipped ones were run when it was built.
func siteTests(tests []file) []file {
	return slices.DeleteFunc(slices.Clone(tests), func(f file) bool { return f.builtIn })
}

// bundleModules gives the files paths inside the bundle, whatever directory they came from.
func bundleModules(files []file) []bundle.ModuleFile {
	var list []bundle.ModuleFile
	for _, f := range files {
		name := path.Clean("/" + f.path)
		list = append(list, bundle.ModuleFile{URL: name, Path: name, Raw: f.text})
	}
	slices.SortFunc(list, func(a, b bundle.ModuleFile) int { return strings.Compare(a.Path, b.Path) })
	return list
}
