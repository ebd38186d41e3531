package document

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// scalar writes a node by the type that YAML's core schema gives it.
func (w *writer) scalar(node *yaml.Node) *Error {
	switch tag := node.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge":
		// The parser takes a plain number that no float can hold for a string.
		if node.Style == 0 && isNumber(node.Value) {
			return w.number(node)
		}
		return w.text(node.Value, node)
	case "!!null":
		w.out = append(w.out, "null"...)
		return nil
	case "!!bool":
		return w.boolean(node)
	case "!!int", "!!float":
		return w.number(node)
	default:
		return w.fail(CodeUnsupported, node, "tag %s is not supported; write the value as text, number, true, false or null",
			quote(tag))
	}
}

func (w *writer) text(text string, node *yaml.Node) *Error {
	out, err := jsontext.AppendQuote(w.out, text)
	if err != nil {
		return w.fail(CodeInvalidUTF8, node, "text %s is not valid Unicode; correct its escapes", quote(text))
	}
	w.out = out
	return nil
}

func (w *writer) boolean(node *yaml.Node) *Error {
	value, err := strconv.ParseBool(node.Value)
	if err != nil || len(node.Value) == 1 {
		return w.fail(CodeInvalidType, node, "%s is not a boolean; write true or false", quote(node.Value))
	}
	w.out = strconv.AppendBool(w.out, value)
	return nil
}

// number keeps a number that JSON can spell as it is, digit by digit, and rewrites the other spellings of YAML.
func (w *writer) number(node *yaml.Node) *Error {
	text := strings.ReplaceAll(node.Value, "_", "")
	if isNumber(text) {
		w.out = append(w.out, text...)
		return nil
	}
	if whole, err := strconv.ParseInt(text, 0, 64); err == nil {
		w.out = strconv.AppendInt(w.out, whole, 10)
		return nil
	}
	if whole, err := strconv.ParseUint(text, 0, 64); err == nil {
		w.out = strconv.AppendUint(w.out, whole, 10)
		return nil
	}
	float, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(float, 0) || math.IsNaN(float) {
		return w.fail(CodeInvalidType, node, "%s is not a number that JSON has; infinities and NaN have no meaning here",
			quote(node.Value))
	}
	w.out = strconv.AppendFloat(w.out, float, 'g', -1, 64)
	return nil
}

func isNumber(text string) bool {
	value := jsontext.Value(text)
	return value.Kind() == '0' && value.IsValid()
}
