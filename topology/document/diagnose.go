package document

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// diagnose turns an error of the JSON decoder into ours. It runs only for documents that are refused.
func diagnose(err error, data []byte) *Error {
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		return badSyntax(syntactic, data)
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		return badValue(semantic)
	}
	return errorf(CodeInvalidSyntax, "", "cannot be read: %v", err)
}

func badSyntax(err *jsontext.SyntacticError, data []byte) *Error {
	pointer := string(err.JSONPointer)
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return errorf(CodeEmpty, "", "the document is empty; send a launch with at least an engine")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return errorf(CodeDuplicateKey, pointer, "key %s is given twice; keep one", quote(err.JSONPointer.LastToken()))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errorf(CodeInvalidSyntax, pointer, "the document ends too early, at byte %d; "+
			"it was cut off, or a bracket or quote is not closed", err.ByteOffset)
	case tooDeep(data, 0):
		return depthError(pointer)
	case err.Err != nil && strings.Contains(err.Err.Error(), "invalid UTF-8"):
		return errorf(CodeInvalidUTF8, pointer, "byte %d is not valid UTF-8; encode the document as UTF-8", err.ByteOffset)
	}
	return errorf(CodeInvalidSyntax, pointer, "not valid JSON at byte %d: %v", err.ByteOffset, err.Err)
}

func badValue(err *json.SemanticError) *Error {
	pointer := string(err.JSONPointer)
	if errors.Is(err, json.ErrUnknownName) {
		return unknownField(err)
	}
	seen, number := kindName(err.JSONKind), shorten(string(err.JSONValue), shownBytes)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return errorf(CodeOutOfRange, pointer, "got the number %s; want a whole number from %d to %d", number,
			math.MinInt64, math.MaxInt64)
	case errors.Is(err, strconv.ErrSyntax):
		return errorf(CodeInvalidType, pointer, "got the number %s; want a whole number, without fraction or exponent",
			number)
	}
	if err.Err != nil {
		return errorf(CodeInvalidValue, pointer, "%v", err.Err)
	}
	problem := errorf(CodeInvalidType, pointer, "got %s; want %s", seen, wanted(err.GoType))
	if err.GoType.Kind() == reflect.String && err.JSONKind != '{' && err.JSONKind != '[' {
		problem.Detail += " in quotes"
	}
	return problem
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[', ']':
		return "a list"
	default:
		return "an object"
	}
}

func wanted(goType reflect.Type) string {
	switch goType.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}
