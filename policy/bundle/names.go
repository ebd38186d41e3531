package bundle

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"
)

const (
	manifestFile   = ".manifest"
	signaturesFile = ".signatures.json"
)

// names keeps what a bundle holds from meaning different things to different readers.
type names struct {
	limits Limits
	// seen maps folded names to the spelling that came first.
	seen map[string]string
	// folders are the folded names of what files lie in.
	folders map[string]bool
	files   map[string]bool
}

// clean takes off the root, which `opa build` writes as / and tar as ./, and says what is wrong with the name.
func (n *names) clean(raw string) (name, wrong string) {
	name = strings.TrimSuffix(raw, "/")
	if rest, found := strings.CutPrefix(name, "./"); found {
		name = rest
	} else {
		name = strings.TrimPrefix(name, "/")
	}
	switch {
	case len(raw) > n.limits.Path:
		return raw[:min(len(raw), 40)] + "...", fmt.Sprintf("its name has %d bytes; allowed are %d", len(raw), n.limits.Path)
	case name == "":
		return ".", ""
	case !fs.ValidPath(name), strings.Contains(name, `\`), strings.ContainsFunc(name, unicode.IsControl):
		return raw, "its name leads out of the bundle or is not clean; write folders and a file separated by single slashes, " +
			"without .., backslashes and control characters"
	}
	return name, ""
}

// add refuses a file that stands there already, also under a name that differs in case only.
func (n *names) add(name string) (wrong string) {
	key := fold(name)
	if first, taken := n.seen[key]; taken {
		if first == name {
			return "it is there twice; each file may stand in a bundle once"
		}
		return fmt.Sprintf("its name differs from %q in case only", first)
	}
	n.seen[key] = name
	if n.folders[key] {
		return "it is a file and a folder at once"
	}
	n.files[key] = true
	for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
		n.folders[dir] = true
		if n.files[dir] {
			return fmt.Sprintf("it lies in %q, which is a file", dir)
		}
	}
	base := path.Base(name)
	switch known := strings.ToLower(base); known {
	case manifestFile, signaturesFile, "data.json", "data.yaml", "data.yml", "patch.json", "policy.wasm":
		if known != base {
			return fmt.Sprintf("write it %s", known)
		}
	}
	if ext := path.Ext(name); ext != ".rego" && strings.EqualFold(ext, ".rego") {
		return "write its ending .rego"
	}
	return ""
}

func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }
