package access

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"
)

// decode reads a file strictly: unknown and repeated keys are mistakes, since a misspelt limit would else be none.
func decode(m *mistakes, text []byte) *file {
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		m.add(1, "it is empty, so that nobody could ask anything; name tokens, service_accounts, certificates or unix_peers")
		return nil
	case err != nil:
		m.list = append(m.list, fmt.Errorf("%s: %s", m.name, strings.TrimPrefix(err.Error(), "yaml: ")))
		return nil
	case !errors.Is(decoder.Decode(&second), io.EOF):
		m.add(1, "an access file is one YAML document; remove what follows the first")
		return nil
	}
	m.keys(document.Content[0], reflect.TypeFor[file]())
	f := new(file)
	var wrong *yaml.TypeError
	switch err := document.Decode(f); {
	case errors.As(err, &wrong):
		for _, text := range wrong.Errors {
			m.list = append(m.list, fmt.Errorf("%s: %s", m.name, text))
		}
	case err != nil:
		m.list = append(m.list, fmt.Errorf("%s: %s", m.name, strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	return f
}

// keys finds keys that no field has.
func (m *mistakes) keys(n *yaml.Node, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.AliasNode:
		m.keys(n.Alias, t)
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for _, element := range n.Content {
			m.keys(element, t.Elem())
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		fields := fieldsOf(t)
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if field, known := fields[key.Value]; known {
				m.keys(n.Content[i+1], field)
			} else {
				m.add(key.Line, "unknown key %q; %s", key.Value, suggest(key.Value, fields))
			}
		}
	}
}

// fieldsOf has the types of the fields by their keys, those of embedded structs too.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for field := range t.Fields() {
		tag := field.Tag.Get("yaml")
		switch {
		case tag == ",inline":
			for key, inner := range fieldsOf(field.Type) {
				fields[key] = inner
			}
		case tag != "":
			fields[tag] = field.Type
		}
	}
	return fields
}

func suggest(key string, fields map[string]reflect.Type) string {
	var known []string
	best, least := "", 1+len(key)/4
	for name := range fields {
		known = append(known, name)
		if d := levenshtein.ComputeDistance(key, name); d <= least {
			best, least = name, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}
