package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/tiergate/tiergate/rego"
)

type builder struct {
	limits Limits
	names  names
	bundle Bundle
	total  int64 // bytes of the files so far
}

func newBuilder(name string, limits Limits) *builder {
	return &builder{
		limits: limits,
		names:  names{limits: limits, seen: map[string]string{}, folders: map[string]bool{}, files: map[string]bool{}},
		bundle: Bundle{Name: name, files: map[string][]byte{}},
	}
}

func (b *builder) refuse(file, format string, args ...any) error {
	return b.bundle.refuse(file, format, args...)
}

func (b *Bundle) refuse(file, format string, args ...any) error {
	return &Error{Bundle: b.Name, File: file, Detail: fmt.Sprintf(format, args...)}
}

func (b *builder) add(name string, content []byte) error {
	if wrong := b.names.add(name); wrong != "" {
		return b.refuse(name, "%s", wrong)
	}
	b.bundle.files[name] = content
	return nil
}

func (b *builder) finish() (*Bundle, error) {
	if err := b.bundle.readManifest(); err != nil {
		return nil, err
	}
	return &b.bundle, nil
}

func isData(name string) bool {
	return path.Base(name) == "data.json" || bundle.IsYAMLDataFile(name)
}

// policies gives the rule and data files that add to those that ship. Data come as JSON, read as OPA reads and hashes
// them: two readers of YAML differ in details, and what is decided by must be what was signed.
func (b *Bundle) policies() (map[string][]byte, error) {
	out := map[string][]byte{}
	shipped := b.Manifest.built()
	for name, content := range b.files {
		switch {
		case path.Ext(name) == ".rego":
			if shipped {
				skip, err := b.ships(name, content)
				if err != nil {
					return nil, err
				}
				if skip {
					continue
				}
			}
			out[name] = content
		case isData(name):
			doc, err := decode(content)
			if err != nil {
				return nil, b.refuse(name, "read data: %s", err)
			}
			if object, ok := doc.(map[string]any); ok && shipped && name == "data.json" {
				delete(object, "checks")
				delete(object, "disabled")
			}
			if out[name], err = json.Marshal(doc); err != nil {
				return nil, b.refuse(name, "read data: %s", err)
			}
		}
	}
	return out, nil
}

// decode reads a document with OPA's own reader.
func decode(content []byte) (doc any, err error) {
	err = util.Unmarshal(content, &doc)
	return doc, err
}

// ships tells what `tiergate policy build` adds to a site's files. A shipped rule that was edited, or that another
// version ships, is refused, since leaving it aside would change verdicts without a word.
func (b *Bundle) ships(name string, content []byte) (bool, error) {
	if name == "generated.rego" {
		return true, nil
	}
	inside, found := strings.CutPrefix(name, "rego/")
	if !found {
		return false, nil
	}
	own, err := rego.FS.ReadFile(inside)
	if err != nil || !bytes.Equal(own, content) {
		return false, b.refuse(name,
			"it is not the rule that this tiergate ships: another version built the bundle, or it was edited; "+
				"build it again with this version, or give the site's rules alone, as `opa build -b DIR` packs them")
	}
	return true, nil
}
