package policy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tiergate/tiergate/topology"
)

// appendFacts writes facts as JSON. The general libraries took half of a small decision for it; this one knows only the
// kinds of values that facts are made of, and its plan is made from the types when the program starts, so that it cannot
// fall behind them.
func appendFacts(out []byte, facts *topology.Facts) []byte {
	return factsPlan(out, reflect.ValueOf(facts).Elem())
}

type encodeFunc func(out []byte, v reflect.Value) []byte

var factsPlan = plan(reflect.TypeFor[topology.Facts]())

// plan returns the encoder of a type. It panics at start on a kind that facts do not have yet.
func plan(t reflect.Type) encodeFunc {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return func(out []byte, v reflect.Value) []byte { return append(out, v.Bytes()...) }
	case t.Kind() == reflect.String:
		return func(out []byte, v reflect.Value) []byte { return appendString(out, v.String()) }
	case t.Kind() == reflect.Bool:
		return func(out []byte, v reflect.Value) []byte { return strconv.AppendBool(out, v.Bool()) }
	case t.Kind() == reflect.Int64:
		return func(out []byte, v reflect.Value) []byte { return strconv.AppendInt(out, v.Int(), 10) }
	case t.Kind() == reflect.Pointer:
		elem := plan(t.Elem())
		return func(out []byte, v reflect.Value) []byte { return elem(out, v.Elem()) }
	case t.Kind() == reflect.Slice:
		return planSlice(t)
	case t.Kind() == reflect.Struct:
		return planStruct(t)
	}
	panic(fmt.Sprintf("facts hold a %s, which appendFacts does not know", t))
}

func planSlice(t reflect.Type) encodeFunc {
	elem := plan(t.Elem())
	return func(out []byte, v reflect.Value) []byte {
		out = append(out, '[')
		for i := range v.Len() {
			if i > 0 {
				out = append(out, ',')
			}
			out = elem(out, v.Index(i))
		}
		return append(out, ']')
	}
}

type plannedField struct {
	index     int
	prefix    string // the comma, the name and the colon
	omitEmpty bool
	encode    encodeFunc
}

func planStruct(t reflect.Type) encodeFunc {
	var fields []plannedField
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, plannedField{f.Index[0], `,"` + name + `":`, options == "omitempty", plan(f.Type)})
	}
	return func(out []byte, v reflect.Value) []byte {
		start := len(out)
		for i := range fields {
			f := &fields[i]
			value := v.Field(f.index)
			if f.omitEmpty && value.IsZero() || f.omitEmpty && value.Kind() == reflect.Slice && value.Len() == 0 {
				continue
			}
			out = f.encode(append(out, f.prefix...), value)
		}
		if len(out) == start {
			out = append(out, ',')
		}
		out[start] = '{'
		return append(out, '}')
	}
}

// appendString writes a JSON string; what is not UTF-8 becomes the replacement character, as in encoding/json.
func appendString(out []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	out = append(out, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out = append(append(out, s[start:i]...), '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		start = i + 1
	}
	return append(append(out, s[start:]...), '"')
}
