package output

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"

	"go.yaml.in/yaml/v3"
)

type yamlFormat struct{}

func (yamlFormat) Write(w io.Writer, results []Result) error {
	return writeYAML(w, documents(results))
}

// writeYAML writes what writeJSON writes, as YAML. It goes through JSON so that names and their order are the same.
func writeYAML(w io.Writer, docs []any) error {
	text, err := json.Marshal(oneOrAll(docs))
	if err != nil {
		return fmt.Errorf("write yaml: %w", err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return fmt.Errorf("write yaml: %w", err)
	}
	relax(&root)
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(&root); err != nil {
		return fmt.Errorf("write yaml: %w", err)
	}
	return enc.Close()
}

// older matches texts that are no texts to readers of YAML 1.1 without their quotes: the device 0:27 is a number to base 60.
var older = regexp.MustCompile(`^([-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|(?i:y|n|yes|no|on|off))$`)

// relax takes away JSON's braces and quotes, except around lists of numbers, which stay on one line.
func relax(n *yaml.Node) {
	if n.Kind == yaml.SequenceNode && len(n.Content) > 0 && n.Content[0].Tag == "!!int" {
		return
	}
	if n.Tag == "!!str" && older.MatchString(n.Value) {
		return
	}
	if len(n.Content) > 0 || n.Kind == yaml.ScalarNode {
		n.Style = 0
	}
	for _, child := range n.Content {
		relax(child)
	}
}
