package input

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/tiergate/tiergate/topology/document"
)

// parse reads a file that holds a launch in JSON or YAML, several in YAML, or Kubernetes objects.
func parse(source string, data []byte) []Input {
	if len(bytes.TrimSpace(data)) == 0 {
		return nothing(source)
	}
	if isJSON(source, data) {
		if isManifest(document.Text{JSON: data}) {
			return engines(source, data)
		}
		launch, err := document.Launch(data, "application/json")
		return []Input{{Source: source, Launch: launch, Err: err}}
	}
	parts, manifests := document.Split(data), 0
	for _, part := range parts {
		// What is not even YAML is left to the reader of launches, whose error says why.
		if text, err := part.Text(); err == nil && isManifest(text) {
			manifests++
		}
	}
	switch manifests {
	case 0:
		return launches(source, parts)
	case len(parts):
		return engines(source, data)
	default:
		return []Input{{Source: source, Err: &Error{
			CodeMixed,
			"the file holds launches and Kubernetes objects; put them into files of their own",
		}}}
	}
}

// isJSON goes by the file's ending, and else by its beginning: no YAML is written with a quote behind the first brace.
func isJSON(source string, data []byte) bool {
	switch filepath.Ext(source) {
	case ".json":
		return true
	case ".yaml", ".yml":
		return false
	}
	rest, braced := bytes.CutPrefix(bytes.TrimSpace(data), []byte("{"))
	return braced && bytes.HasPrefix(bytes.TrimSpace(rest), []byte(`"`))
}

// isManifest tells Kubernetes objects, which say what they are, from launches, which have no such fields.
func isManifest(text document.Text) bool {
	var object struct {
		APIVersion any `json:"apiVersion"`
		Kind       any `json:"kind"`
	}
	return text.Extract(&object) == nil && (object.APIVersion != nil || object.Kind != nil)
}

func nothing(source string) []Input {
	return []Input{{Source: source, Err: &Error{CodeEmpty, "the file is empty, so there is nothing to judge"}}}
}

func launches(source string, parts []document.Part) []Input {
	if len(parts) == 0 {
		return nothing(source)
	}
	all := make([]Input, len(parts))
	for i, part := range parts {
		all[i].Source, all[i].part = source, part
		if len(parts) > 1 {
			all[i].Source = fmt.Sprintf("%s#%d", source, i+1)
		}
		all[i].Launch, all[i].Err = part.Launch()
	}
	return all
}
