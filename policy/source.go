package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tiergate/tiergate/rego"
)

// Source is a tree of rule and data files: *.rego, and data.json, data.yaml or data.yml, whose content stands in the data
// document at the path of its folder, as in OPA's bundles. Other files are ignored.
type Source struct {
	// Name stands before file names in errors, e.g. the directory.
	Name string
	FS   fs.FS
}

// BuiltIn is the name of the source of the rules that ship.
const BuiltIn = "rego"

type file struct {
	path    string
	text    []byte
	builtIn bool
}

// files are the read sources.
type files struct {
	// mask is what the settings want erased from decision logs.
	mask []string
	// acceptFlips are the stored launches whose verdicts may flip.
	acceptFlips []string
	modules     []file
	tests       []file
	data        map[string]any
	// settings are the files that data.settings comes from, by the name below it; "" is all of it.
	settings map[string]string
	// count is how many files were read, data files included.
	count int
}

// read reads the shipped rules and then the given sources. data is a further document in JSON or YAML, merged last; dataName
// stands for it in errors.
func read(sources []Source, data []byte, dataName string) (*files, error) {
	out := &files{data: map[string]any{}, settings: map[string]string{}}
	all := append([]Source{{Name: BuiltIn, FS: rego.FS}}, sources...)
	for i, s := range all {
		if err := out.readSource(s, i == 0); err != nil {
			return nil, err
		}
	}
	if len(data) > 0 {
		if err := out.mergeData(cmp.Or(dataName, "data file"), nil, data); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readSource refuses a source without a rule or data file: a mount that failed would otherwise take a site's rules away
// without a word.
func (f *files) readSource(s Source, builtIn bool) error {
	before := f.count
	err := fs.WalkDir(s.FS, ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && p != ".":
			return fs.SkipDir // .git, and the ..data folders behind a mounted ConfigMap
		case entry.IsDir():
			return nil
		}
		return f.readFile(s, p, builtIn)
	})
	if err != nil {
		var known *Error
		if errors.As(err, &known) {
			return err
		}
		return fmt.Errorf("read policy %s: %w", s.Name, err)
	}
	if f.count == before {
		return &Error{Code: CodeEmptySource, File: s.Name, Message: "there is no rule or data file: give *.rego, data.json or data.yaml"}
	}
	return nil
}

// IsSource tells whether a file of a Source counts.
func IsSource(name string) bool { return path.Ext(name) == ".rego" || isData(name) }

func isData(name string) bool {
	base := path.Base(name)
	return base == "data.json" || base == "data.yaml" || base == "data.yml"
}

func (f *files) readFile(s Source, p string, builtIn bool) error {
	if !IsSource(p) {
		return nil
	}
	text, err := fs.ReadFile(s.FS, p)
	if err != nil {
		return err
	}
	f.count++
	name := path.Join(s.Name, p)
	switch {
	case isData(p):
		var at []string
		if dir := path.Dir(p); dir != "." {
			at = strings.Split(dir, "/")
		}
		return f.mergeData(name, at, text)
	case strings.HasSuffix(p, "_test.rego"):
		f.tests = append(f.tests, file{name, text, builtIn})
	default:
		f.modules = append(f.modules, file{name, text, builtIn})
	}
	return nil
}

// mergeData puts a document into the data at a path. Two documents may add to one object, not set one value twice.
func (f *files) mergeData(name string, at []string, text []byte) error {
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil { // JSON is YAML
		return &Error{Code: CodeBadData, File: name, Message: "read data: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	for i := len(at) - 1; i >= 0; i-- {
		doc = map[string]any{at[i]: doc}
	}
	object, ok := doc.(map[string]any)
	if !ok {
		return &Error{Code: CodeBadData, File: name, Message: fmt.Sprintf("data must be an object, not %T", doc)}
	}
	for _, reserved := range []string{"tiergate", "checks", "disabled"} {
		if _, taken := object[reserved]; taken {
			return &Error{Code: CodeBadData, File: name, Message: fmt.Sprintf(
				"data.%s belongs to Tiergate; put site data under another name, and settings under data.settings", reserved)}
		}
	}
	f.noteSettings(name, object)
	if key, ok := merge(f.data, object); !ok {
		return &Error{Code: CodeBadData, File: name, Message: fmt.Sprintf("data.%s is set twice", key)}
	}
	return nil
}

// noteSettings remembers where settings come from, since several files may give some.
func (f *files) noteSettings(name string, object map[string]any) {
	settings, given := object["settings"]
	if !given {
		return
	}
	f.settings[""] = name
	if members, ok := settings.(map[string]any); ok {
		for key := range members {
			f.settings[key] = name
		}
	}
}

// merge adds the members of from to into and returns the path of the first value that is in both.
func merge(into, from map[string]any) (string, bool) {
	for k, v := range from {
		old, exists := into[k]
		if !exists {
			into[k] = v
			continue
		}
		a, aOK := old.(map[string]any)
		b, bOK := v.(map[string]any)
		if !aOK || !bOK {
			return k, false
		}
		if key, ok := merge(a, b); !ok {
			return k + "." + key, false
		}
	}
	return "", true
}

// asJSON gives documents the types and the byte form of JSON.
// Keys come sorted, unlike from the other JSON library here, so that equal data have equal digests.
func asJSON(doc any) ([]byte, error) { return json.Marshal(doc) }
