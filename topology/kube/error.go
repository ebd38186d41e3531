package kube

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tiergate/tiergate/topology/document"
)

// ErrNoEngine is in the chain of the error for a file in which nothing starts an engine.
var ErrNoEngine = errors.New("no vLLM engine in the manifest")

// The codes of an Error that do not come from package document. They are stable: services pass them on to programs.
const (
	CodeNoEngine      = "no_engine"
	CodeInvalidEngine = "invalid_engine"
	CodeTooManyPods   = "too_many_pods"
)

// Error says why a manifest cannot be read.
type Error struct {
	Code string
	// Object is the kind and name, e.g. "Deployment/decode"; empty where the file as a whole is meant.
	Object string
	// Line counts from 1 in the file; 0 where it is not known, as in JSON.
	Line int
	// Pointer is the JSON pointer of the offending value inside the object, where there is one.
	Pointer string
	// Detail is for people: what was seen, what is allowed, what to do.
	Detail string

	err error
}

// Error gives line, object, pointer and detail, as far as they are known.
func (e *Error) Error() string {
	var text strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&text, "line %d: ", e.Line)
	}
	for _, part := range []string{e.Object, e.Pointer} {
		if part != "" {
			text.WriteString(part)
			text.WriteString(": ")
		}
	}
	text.WriteString(e.Detail)
	return text.String()
}

// Unwrap gives the error of the document or of the engine's command, or ErrNoEngine.
func (e *Error) Unwrap() error { return e.err }

// unreadable wraps an error of package document.
func unreadable(object string, err error) error {
	var problem *document.Error
	if !errors.As(err, &problem) {
		return fmt.Errorf("read %s: %w", object, err)
	}
	return &Error{
		Code: problem.Code, Object: object, Line: problem.Line, Pointer: problem.Pointer, Detail: problem.Detail, err: err,
	}
}
