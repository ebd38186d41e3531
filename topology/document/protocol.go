package document

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// The version that is spoken here, from the one place that has it.
var spokenMajor, spokenMinor, _ = version(v1.Protocol)

// version reads major.minor.
func version(text string) (major, minor uint64, ok bool) {
	first, second, _ := strings.Cut(text, ".")
	major, err := strconv.ParseUint(first, 10, 16)
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.ParseUint(second, 10, 16)
	return major, minor, err == nil
}

// newer tells whether a document was written for a later minor version. It looks for the protocol before anything else is
// judged, since another major version may have other fields. What is no JSON object is left to the decoder.
func (t Text) newer() (bool, *Error) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(t.JSON))
	switch token, err := decoder.ReadToken(); {
	case err == nil && token.Kind() == 'n':
		return false, noProtocol()
	case err != nil || token.Kind() != '{':
		return false, nil
	}
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		switch {
		case err != nil:
			return false, nil
		case name.String() == "protocol":
			value, err := decoder.ReadToken()
			switch {
			case err == nil && value.Kind() == 'n':
				return false, noProtocol()
			case err != nil || value.Kind() != '"':
				return false, nil
			}
			return spoken(value.String())
		case decoder.SkipValue() != nil:
			return false, nil
		}
	}
	if decoder.PeekKind() == '}' {
		return false, noProtocol()
	}
	return false, nil
}

func noProtocol() *Error {
	return errorf(CodeMissingField, "/protocol", "protocol is missing; this service speaks %s", v1.Protocol)
}

// spoken judges a version.
func spoken(protocol string) (newer bool, problem *Error) {
	major, minor, ok := version(protocol)
	switch {
	case !ok:
		return false, errorf(CodeInvalidValue, "/protocol", "protocol is %s; write major.minor, such as %s", quote(protocol), v1.Protocol)
	case major != spokenMajor:
		return false, errorf(v1.CodeProtocol, "/protocol", "protocol is %s, and this service speaks %s; "+
			"run a runtime and a service of one major version", quote(protocol), v1.Protocol)
	}
	return minor > spokenMinor, nil
}

// decodeNewer decodes what is known and lists what is not.
func (t Text) decodeNewer(into any) ([]string, error) {
	if err := json.Unmarshal(t.JSON, into, lenient); err != nil {
		return nil, t.locate(diagnose(err, t.JSON))
	}
	if err := refuseNulls(t.JSON); err != nil {
		return nil, t.locate(err)
	}
	l := lister{decoder: jsontext.NewDecoder(bytes.NewBuffer(t.JSON))}
	l.value(reflect.TypeOf(into))
	return l.unknown, nil
}

// maxIgnored bounds how many unknown fields are listed; they are ignored in any number.
const maxIgnored = 16

// lister walks over JSON that was decoded already and notes the fields that a type does not have.
type lister struct {
	decoder *jsontext.Decoder
	unknown []string
}

func (l *lister) value(goType reflect.Type) {
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	switch kind := l.decoder.PeekKind(); {
	case kind == '{' && (goType.Kind() == reflect.Struct || goType.Kind() == reflect.Map):
		l.object(goType)
	case kind == '[' && goType.Elem().Kind() == reflect.Struct:
		_, _ = l.decoder.ReadToken()
		for l.decoder.PeekKind() != ']' {
			l.value(goType.Elem())
		}
		_, _ = l.decoder.ReadToken()
	default:
		_ = l.decoder.SkipValue()
	}
}

func (l *lister) object(goType reflect.Type) {
	_, _ = l.decoder.ReadToken()
	for l.decoder.PeekKind() != '}' {
		name, err := l.decoder.ReadToken()
		if err != nil {
			return
		}
		switch member := memberType(goType, name.String()); {
		case member != nil:
			l.value(member)
			continue
		case len(l.unknown) < maxIgnored:
			l.unknown = append(l.unknown, shorten(string(l.decoder.StackPointer()), shownPointer))
		}
		_ = l.decoder.SkipValue()
	}
	_, _ = l.decoder.ReadToken()
}

// memberType is the type of a member of an object, nil if the object has none of that name.
func memberType(goType reflect.Type, name string) reflect.Type {
	if goType.Kind() == reflect.Map {
		return goType.Elem()
	}
	for i := range goType.NumField() {
		if known, _, _ := strings.Cut(goType.Field(i).Tag.Get("json"), ","); known == name {
			return goType.Field(i).Type
		}
	}
	return nil
}
