package document

import (
	"bytes"
	"mime"

	"github.com/go-json-experiment/json"
)

// MaxBytes is the largest JSON document that is read: 65,536 workers with their groups, twice over.
const MaxBytes = 16 << 20

// maxDepth is how many objects and lists may be nested. Real transfer configurations need about ten levels.
const maxDepth = 100

var (
	strict  = json.RejectUnknownMembers(true)
	lenient = json.RejectUnknownMembers(false)
)

// Decode reads one JSON or YAML document into a value made of the types of api/v1. The media type is application/json,
// which the empty string stands for, or application/yaml, application/x-yaml or text/yaml. Every error is an *Error.
//
// JSON null leaves an optional field out; it is refused as a list element and as a value of engine.env, where it would
// turn into an empty string or a zero unnoticed.
func Decode(data []byte, mediaType string, into any) error {
	text, err := read(data, mediaType)
	if err != nil {
		return err
	}
	return text.decode(into)
}

// Extract reads those fields of the document that the value has, and ignores all others. It is meant for documents that
// somebody else defines, such as Kubernetes objects. Every error is an *Error.
func (t Text) Extract(into any) error {
	if err := json.Unmarshal(t.JSON, into, lenient); err != nil {
		return t.locate(diagnose(err, t.JSON))
	}
	return nil
}

func (t Text) decode(into any) error {
	if err := json.Unmarshal(t.JSON, into, strict); err != nil {
		return t.locate(diagnose(err, t.JSON))
	}
	// The walk over all tokens costs as much as decoding; few documents hold a null.
	if bytes.Contains(t.JSON, []byte("null")) {
		if err := refuseNulls(t.JSON); err != nil {
			return t.locate(err)
		}
	}
	return nil
}

func read(data []byte, mediaType string) (Text, error) {
	yaml, err := IsYAML(mediaType)
	if err != nil {
		return Text{}, err
	}
	if yaml {
		return FromYAML(data)
	}
	if len(data) > MaxBytes {
		return Text{}, tooLarge(len(data), MaxBytes, "")
	}
	return Text{JSON: data}, nil
}

// IsYAML tells YAML's media types from JSON's, which the empty string stands for; any other is an *Error. The spellings
// that nearly every request has are compared without parsing.
func IsYAML(mediaType string) (bool, error) {
	if mediaType == "" || mediaType == "application/json" {
		return false, nil
	}
	base, _, err := mime.ParseMediaType(mediaType)
	if err == nil {
		switch base {
		case "application/json":
			return false, nil
		case "application/yaml", "application/x-yaml", "text/yaml":
			return true, nil
		}
	}
	return false, errorf(CodeMediaType, "", "content type %s is not read; send application/json or application/yaml",
		quote(mediaType))
}

func tooLarge(size, limit int, hint string) *Error {
	return errorf(CodeTooLarge, "", "the document has %d bytes, at most %d are read%s", size, limit, hint)
}
