package document

import (
	"bytes"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
