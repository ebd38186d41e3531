package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse reads a configuration file strictly: one YAML mapping of known keys, each given once, with values that can be
// read. The name stands in errors.
func Parse(name string, text []byte) (*Serve, error) {
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return new(Serve), nil
	case err != nil:
		return nil, fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	case !errors.Is(decoder.Decode(&second), io.EOF):
		return nil, fmt.Errorf("%s: a configuration is one YAML document; remove what follows the first", name)
	}
	r := reader{name: name, seen: map[string]bool{}}
	r.mapping(document.Content[0])
	if err := errors.Join(r.mistakes...); err != nil {
		return nil, err
	}
	return &r.serve, nil
}

type reader struct {
	mistakes
	name  string
	serve Serve
	seen  map[string]bool
}

func (r *reader) at(node *yaml.Node, format string, args ...any) {
	r.add("%s:%d: %s", r.name, node.Line, fmt.Sprintf(format, args...))
}

func (r *reader) mapping(root *yaml.Node) {
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return
	}
	if root.Kind != yaml.MappingNode {
		r.at(root, "a configuration is a mapping of keys to values, e.g. addr: [127.0.0.1:8642]")
		return
	}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		field, known := r.field(key.Value)
		switch {
		case !known:
			r.at(key, "unknown key %q; %s", key.Value, suggest(key.Value))
		case r.seen[key.Value]:
			r.at(key, "key %q is given twice; keep one", key.Value)
		default:
			r.value(field, key.Value, value)
		}
		r.seen[key.Value] = true
	}
}

func (r *reader) field(key string) (reflect.Value, bool) {
	v := reflect.ValueOf(&r.serve).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == key {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// value sets a field. A list may also be given as its only element.
func (r *reader) value(field reflect.Value, key string, node *yaml.Node) {
	list, isList := field.Addr().Interface().(*[]string)
	switch {
	case node.Kind == yaml.ScalarNode && isList:
		*list = []string{node.Value}
	case node.Kind == yaml.ScalarNode:
		if err := set(field, node.Value); err != nil {
			r.at(node, "%s: %s", key, err)
		}
	case node.Kind == yaml.SequenceNode && isList:
		for _, element := range node.Content {
			if element.Kind != yaml.ScalarNode {
				r.at(element, "%s: an element must be a single value", key)
				continue
			}
			*list = append(*list, element.Value)
		}
	case isList:
		r.at(node, "%s: want a list of values", key)
	default:
		r.at(node, "%s: want a single value", key)
	}
}
