package bundle

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
)

// Manifest is what of .manifest matters here.
type Manifest struct {
	// Revision is a label of whoever built the bundle, not a digest.
	Revision string `json:"revision"`
	// Roots are the parts of the document that the bundle may set; none at all means everything.
	Roots        *[]string      `json:"roots"`
	RegoVersion  *int           `json:"rego_version"`
	FileVersions map[string]int `json:"file_rego_versions"`
	Wasm         []wasmEntry    `json:"wasm"`
	Metadata     map[string]any `json:"metadata"`
}

type wasmEntry struct {
	Entrypoint string `json:"entrypoint"`
}

// built tells the bundles of `tiergate policy build`, which hold the shipped rules too.
func (m Manifest) built() bool { return m.Metadata["built_by"] == "tiergate" }

func (b *Bundle) readManifest() error {
	if text, given := b.files[manifestFile]; given {
		doc, err := decode(text) // as it is hashed
		if err == nil {
			text, err = json.Marshal(doc)
		}
		if err == nil {
			err = json.Unmarshal(text, &b.Manifest)
		}
		if err != nil {
			return b.refuse(manifestFile, "read: %s", err)
		}
	}
	if _, delta := b.files["patch.json"]; delta {
		return b.refuse("patch.json", "it is a delta bundle, which cannot be signed or tested as a whole; give a full bundle")
	}
	versions := []int{}
	if b.Manifest.RegoVersion != nil {
		versions = append(versions, *b.Manifest.RegoVersion)
	}
	for _, v := range b.Manifest.FileVersions {
		versions = append(versions, v)
	}
	if slices.ContainsFunc(versions, func(v int) bool { return v != 1 }) {
		return b.refuse(manifestFile,
			"it asks for Rego v0; only v1 is understood: run `opa fmt --write --v0-v1` on the rules")
	}
	if len(b.Manifest.Wasm) > 0 {
		return b.refuse(manifestFile,
			"entry point %s stands in the WebAssembly alone: `opa build -t wasm` takes its rules out of the Rego, "+
				"which checks are read from; build without -t wasm", b.Manifest.Wasm[0].Entrypoint)
	}
	return b.checkContent()
}

func (b *Bundle) checkContent() error {
	var wasm, rules bool
	for name := range b.files {
		wasm = wasm || path.Ext(name) == ".wasm"
		rules = rules || path.Ext(name) == ".rego"
	}
	if wasm && !rules {
		return b.refuse(
			"", "it holds WebAssembly without the Rego that it was made of, which checks and their METADATA are read from; "+
				"build it without leaving the rules out")
	}
	return b.checkRoots()
}

// checkRoots refuses what OPA refuses: roots that contain each other, and rules and data outside of them.
func (b *Bundle) checkRoots() error {
	if b.Manifest.Roots == nil {
		return nil
	}
	roots := make([]string, len(*b.Manifest.Roots))
	for i, root := range *b.Manifest.Roots {
		roots[i] = strings.Trim(root, "/")
		for _, other := range roots[:i] {
			if bundle.RootPathsOverlap(roots[i], other) {
				return b.refuse(manifestFile, "its roots %q and %q overlap", other, roots[i])
			}
		}
	}
	for _, name := range sorted(b.files) {
		var inside []string
		switch {
		case path.Ext(name) == ".rego":
			module, err := ast.ParseModuleWithOpts(name, string(b.files[name]), ast.ParserOptions{RegoVersion: ast.RegoV1})
			if err != nil {
				continue // whoever compiles it says so, with everything else that is wrong
			}
			inside = []string{pathOf(module.Package.Path)}
		case isData(name):
			doc, err := decode(b.files[name])
			if err != nil {
				return b.refuse(name, "read data: %s", err)
			}
			inside = leaves(strings.TrimPrefix(path.Dir(name), "."), doc, roots)
		}
		for _, at := range inside {
			if !bundle.RootPathsContain(roots, at) {
				return b.refuse(name, "it sets %q, which lies outside the roots %q of the manifest", at, roots)
			}
		}
	}
	return nil
}

func pathOf(ref ast.Ref) string {
	parts := make([]string, 0, len(ref))
	for _, term := range ref[1:] {
		if s, ok := term.Value.(ast.String); ok {
			parts = append(parts, string(s))
		}
	}
	return strings.Join(parts, "/")
}

// leaves are the paths that a document sets, down to the roots.
func leaves(at string, doc any, roots []string) []string {
	object, ok := doc.(map[string]any)
	if !ok || bundle.RootPathsContain(roots, at) {
		return []string{at}
	}
	var out []string
	for key, value := range object {
		out = append(out, leaves(strings.TrimPrefix(at+"/"+key, "/"), value, roots)...)
	}
	slices.Sort(out)
	return out
}
