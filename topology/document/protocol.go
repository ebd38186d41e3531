package document

import (
	"bytes"
	"strconv"
	"strings"

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
