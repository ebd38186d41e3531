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

	"github.com/tiergate/tiergate/topology"
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

// parse reads one JSON value, strictly: no key twice, no bytes that are not UTF-8, no number beyond a double. Members
// come out sorted by name.
func parse(data []byte) (value, error) {
	// Duplicate names are found here, where the members are sorted anyway.
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))
	v, err := read(dec)
	if err != nil {
		return value{}, located(err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return value{}, &syntaxError{dec.InputOffset(), "more text after the value"}
	}
	return v, nil
}

func read(dec *jsontext.Decoder) (value, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return value{}, err
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
		v.members, err = readMembers(dec)
	case '[':
		v.items, err = readItems(dec)
	}
	return v, err
}

func readMembers(dec *jsontext.Decoder) ([]member, error) {
	members := make([]member, 0, 4)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		if m.value, err = read(dec); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	sortMembers(members)
	for i := range members[min(1, len(members)):] {
		if members[i].name == members[i+1].name {
			name := strconv.Quote(shorten(members[i].name))
			return nil, &syntaxError{dec.InputOffset(), "the key " + name + " is given twice"}
		}
	}
	_, err := dec.ReadToken()
	return members, err
}

func readItems(dec *jsontext.Decoder) ([]value, error) {
	var items []value
	for dec.PeekKind() != ']' {
		item, err := read(dec)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := dec.ReadToken()
	return items, err
}

func sortMembers(members []member) {
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
}

// maxNumber is the longest number that is read. Bytes.
const maxNumber = 40

// syntaxError is a text that is no JSON, and where.
type syntaxError struct {
	at     int64
	detail string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s, at byte %d", e.detail, e.at) }

// located keeps of a decoder's error what a user can act on.
func located(err error) error {
	var failure *jsontext.SyntacticError
	if errors.As(err, &failure) {
		return &syntaxError{failure.ByteOffset, "not JSON: " + strings.TrimPrefix(failure.Err.Error(), "jsontext: ")}
	}
	if _, ours := err.(*syntaxError); ours {
		return err
	}
	return &syntaxError{0, "not JSON: " + err.Error()}
}

// canonical appends the value with sorted keys and without spaces. With mask, credentials are left out.
func (v *value) canonical(out []byte, mask bool) []byte {
	switch v.kind {
	case '"':
		out, _ = jsontext.AppendQuote(out, v.text)
	case '{':
		sortMembers(v.members) // keys may have been added since
		out = append(out, '{')
		for i := range v.members {
			if i > 0 {
				out = append(out, ',')
			}
			m := &v.members[i]
			out, _ = jsontext.AppendQuote(out, m.name)
			out = append(out, ':')
			if mask && topology.Credential(m.name) {
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
