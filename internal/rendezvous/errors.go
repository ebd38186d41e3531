package rendezvous

import (
	"fmt"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Error is a request that cannot be answered, with one of the codes of api/v1.
type Error struct {
	Code   string
	Detail string
	// Pointer is the JSON pointer of the offending value in the body, if it is one.
	Pointer string
}

func (e *Error) Error() string { return e.Detail }

func invalid(pointer, format string, args ...any) error {
	return &Error{Code: v1.CodeInvalidReport, Pointer: pointer, Detail: fmt.Sprintf(format, args...)}
}

func gone(k Key, n int64) error {
	return &Error{Code: v1.CodeAttemptGone, Detail: fmt.Sprintf(
		"attempt %d of engine %s is not known here any more, or has another id; report again", n, k.Engine)}
}

// EndedError: the attempt has ended, and not with an admission that the caller is part of.
type EndedError struct{ End v1.AttemptEnd }

func (e *EndedError) Error() string { return e.End.Message }
