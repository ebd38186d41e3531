package document

import (
	"fmt"
	"strconv"
	"strings"
)

// The codes of an Error. They are stable: services pass them on to programs.
const (
	CodeEmpty            = "empty"
	CodeTooLarge         = "too_large"
	CodeTooDeep          = "too_deep"
	CodeMediaType        = "unsupported_media_type"
	CodeInvalidUTF8      = "invalid_utf8"
	CodeInvalidSyntax    = "invalid_syntax"
	CodeInvalidType      = "invalid_type"
	CodeOutOfRange       = "out_of_range"
	CodeInvalidValue     = "invalid_value"
	CodeUnknownField     = "unknown_field"
	CodeDuplicateKey     = "duplicate_key"
	CodeMissingField     = "missing_field"
	CodeSeveralDocuments = "several_documents"
	CodeAliasCycle       = "alias_cycle"
	CodeUnsupported      = "unsupported"
)

// Error says why a document was not accepted, and where.
type Error struct {
	Code string
	// Pointer is the JSON pointer (RFC 6901) of the offending value; empty for the document itself.
	Pointer string
	// Line counts from 1 in the source; 0 where it is not known, as in JSON.
	Line int
	// Detail is one sentence for people: what was seen, what is allowed, what to do.
	Detail string
	// Nearest is the allowed name closest to an unknown one, if one is close.
	Nearest string
}

// Error gives line, pointer and detail, as far as they are known.
func (e *Error) Error() string {
	var text strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&text, "line %d: ", e.Line)
	}
	if e.Pointer != "" {
		text.WriteString(e.Pointer)
		text.WriteString(": ")
	}
	text.WriteString(e.Detail)
	return text.String()
}

func errorf(code, pointer, format string, args ...any) *Error {
	return &Error{Code: code, Pointer: pointer, Detail: fmt.Sprintf(format, args...)}
}

// shownBytes bounds what an error repeats of a name or value, which may be hostile and ends up in logs.
const shownBytes = 64

func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

func quote(text string) string {
	return strconv.Quote(shorten(text, shownBytes))
}
