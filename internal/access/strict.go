package access

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tiergate/tiergate/topology"
)

// decode reads a file strictly: unknown, repeated and empty keys are mistakes, since a misspelt limit would else be none.
// None of these mistakes quotes a value: it could be a token in the wrong place.
func decode(m *mistakes, text []byte) *file {
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return new(file)
	case err != nil:
		m.add(syntax(err))
		return nil
	case !errors.Is(decoder.Decode(&second), io.EOF):
		m.add(1, "an access file is one YAML document; remove what follows the first")
		return nil
	}
	f, root := new(file), document.Content[0]
	if isNull(root) {
		return f
	}
	m.fill(root, reflect.ValueOf(f).Elem(), "an access file")
	return f
}

// syntax tells where the YAML is broken, and how unless that quotes the file.
func syntax(err error) (int, string) {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
		_, text, _ = strings.Cut(text, ": ")
	}
	if strings.Contains(text, "anchor") {
		text = "it refers to an anchor that is nowhere"
	}
	return line, "this is no YAML: " + text
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// fill sets a value from a node, which stands under a key.
func (m *mistakes) fill(n *yaml.Node, v reflect.Value, key string) {
	if v.Kind() == reflect.Struct {
		began(v, n.Line, true) // until it proves whole
	}
	switch kind := v.Kind(); {
	case n.Kind == yaml.AliasNode:
		m.add(n.Line, "%s: aliases are not followed; write it out", key)
	case isNull(n):
		m.add(n.Line, "%s: there is no value; give one, or leave the key out", key)
	case kind == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		m.fill(n, v.Elem(), key)
	case kind == reflect.Struct && n.Kind == yaml.MappingNode:
		m.mapping(n, v)
	case kind == reflect.Struct:
		m.add(n.Line, "%s: want a mapping with %s", key, strings.Join(keysOf(v.Type()), ", "))
	case kind == reflect.Slice && n.Kind == yaml.SequenceNode:
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
		for i, element := range n.Content {
			m.fill(element, v.Index(i), key)
		}
	case kind == reflect.Slice:
		m.add(n.Line, "%s: want a list", key)
	case n.Kind != yaml.ScalarNode:
		m.add(n.Line, "%s: want a single value", key)
	default:
		if wanted := scalar(n.Value, v); wanted != "" {
			m.add(n.Line, "%s: want %s", key, wanted)
		}
	}
}

func (m *mistakes) mapping(n *yaml.Node, v reflect.Value) {
	before := len(m.list)
	defer func() { began(v, n.Line, len(m.list) > before) }()
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		field := fieldOf(v, key.Value)
		switch {
		case !field.IsValid():
			m.add(key.Line, "unknown key %.64q; %s", key.Value, suggest(key.Value, keysOf(v.Type())))
		case seen[key.Value]:
			m.add(key.Line, "key %q is given twice; keep one", key.Value)
		default:
			m.fill(n.Content[i+1], field, key.Value)
		}
		seen[key.Value] = true
	}
}

// began sets the origin of what has one.
func began(v reflect.Value, line int, broken bool) {
	if field := v.FieldByName("Line"); field.IsValid() {
		field.SetInt(int64(line))
		v.FieldByName("Broken").SetBool(broken)
	}
}

// scalar sets a single value, or says what is wanted.
func scalar(text string, v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Float64:
		number, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
			return "a number"
		}
		v.SetFloat(number)
	case reflect.Int:
		number, err := strconv.Atoi(text)
		if err != nil {
			return "a whole number"
		}
		v.SetInt(int64(number))
	case reflect.Uint32:
		// YAML reads 010 as 8, most people as 10.
		number, err := strconv.ParseUint(text, 10, 32)
		if err != nil || strconv.FormatUint(number, 10) != text {
			return "a number from 0 to 4294967295, in decimal digits"
		}
		v.SetUint(number)
	}
	return ""
}

// fieldOf is the field of a key, also in an embedded struct.
func fieldOf(v reflect.Value, key string) reflect.Value {
	if key == "" || key == ",inline" {
		return reflect.Value{}
	}
	for field, value := range v.Fields() {
		switch field.Tag.Get("yaml") {
		case ",inline":
			if inner := fieldOf(value, key); inner.IsValid() {
				return inner
			}
		case key:
			return value
		}
	}
	return reflect.Value{}
}

func keysOf(t reflect.Type) (keys []string) {
	for field := range t.Fields() {
		switch key := field.Tag.Get("yaml"); key {
		case ",inline":
			keys = append(keys, keysOf(field.Type)...)
		case "":
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

// suggest names the nearest of what is known, or else all.
func suggest(name string, known []string) string {
	if near := topology.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known are " + strings.Join(known, ", ")
}
