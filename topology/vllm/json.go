package vllm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// value is a JSON value. Numbers keep their text, so that nothing is lost to floating point.
type value struct {
	kind    jsontext.Kind
	text    string
	members []member
	items   []value
}

type member struct {
	name  string
	value value
}

// get gives the value of a key, or nil.
func (v *value) get(name string) *value {
	if v == nil {
		return nil
	}
	for i := range v.members {
		if v.members[i].name == name {
			return &v.members[i].value
		}
	}
	return nil
}

// put sets the value of a key.
func (v *value) put(name string, to value) {
	if old := v.get(name); old != nil {
		*old = to
		return
	}
	v.members = append(v.members, member{name, to})
}

// parse reads one JSON value, strictly: no key twice, no bytes that are not UTF-8, no number beyond a double.
func parse(data []byte) (value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	v, err := read(dec)
	if err != nil {
		return value{}, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return value{}, &syntaxError{dec.InputOffset(), "more text after the value"}
	}
	return v, nil
}

func read(dec *jsontext.Decoder) (value, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return value{}, located(err)
	}
	v := value{kind: token.Kind()}
	switch v.kind {
	case '"':
		v.text = token.String()
	case '0':
		v.text = token.String()
		if f, err := strconv.ParseFloat(v.text, 64); err != nil || math.IsInf(f, 0) || len(v.text) > maxNumber {
			return value{}, &syntaxError{dec.InputOffset(), "the number " + shorten(v.text) + " is out of range"}
		}
	case '{':
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return value{}, located(err)
			}
			m := member{name: name.String()}
			if m.value, err = read(dec); err != nil {
				return value{}, err
			}
			v.members = append(v.members, m)
		}
	case '[':
		for dec.PeekKind() != ']' {
			item, err := read(dec)
			if err != nil {
				return value{}, err
			}
			v.items = append(v.items, item)
		}
	}
	if v.kind == '{' || v.kind == '[' {
		_, err = dec.ReadToken()
	}
	return v, located(err)
}

// maxNumber is the longest number that is read. Bytes.
const maxNumber = 40

// syntaxError is a text that is no JSON, and where.
type syntaxError struct {
	at     int64
	detail string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("not JSON at byte %d: %s", e.at, e.detail) }

// located keeps of a decoder's error what a user can act on.
func located(err error) error {
	var failure *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failure):
		return &syntaxError{failure.ByteOffset, strings.TrimPrefix(failure.Err.Error(), "jsontext: ")}
	case errors.Is(err, io.EOF):
		return &syntaxError{0, "it is empty"}
	}
	return &syntaxError{0, err.Error()}
}

// canonical appends the value with sorted keys and without spaces. With mask, credentials are left out.
func (v *value) canonical(out []byte, mask bool) []byte {
	switch v.kind {
	case '"':
		out, _ = jsontext.AppendQuote(out, v.text)
	case '{':
		slices.SortFunc(v.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
		out = append(out, '{')
		for i := range v.members {
			if i > 0 {
				out = append(out, ',')
			}
			m := &v.members[i]
			out, _ = jsontext.AppendQuote(out, m.name)
			out = append(out, ':')
			if mask && isCredential(m.name) {
				out = append(out, `"***"`...)
				continue
			}
			out = m.value.canonical(out, mask)
		}
		out = append(out, '}')
	case '[':
		out = append(out, '[')
		for i := range v.items {
			if i > 0 {
				out = append(out, ',')
			}
			out = v.items[i].canonical(out, mask)
		}
		out = append(out, ']')
	case '0':
		out = append(out, v.text...)
	default:
		out = append(out, v.kind.String()...)
	}
	return out
}
