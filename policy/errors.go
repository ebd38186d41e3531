package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/tiergate/tiergate/policy/internal/host"
)

// The ways in which an evaluation ends without an answer; errors.Is finds them. None of them is ever an allow.
var (
	ErrDeadline  = host.ErrDeadline
	ErrBudget    = host.ErrBudget
	ErrMemory    = host.ErrMemory
	ErrStack     = host.ErrStack
	ErrConflict  = host.ErrConflict
	ErrBuiltin   = host.ErrBuiltin
	ErrTrap      = host.ErrTrap
	ErrUndefined = errors.New("the policy gives no result")
	// ErrNoEntrypoint: a path that is neither tiergate/verdict nor declared as an entry point by the policy.
	ErrNoEntrypoint = errors.New("no such entry point")
	// ErrClosed: the engine was closed.
	ErrClosed = errors.New("policy engine is closed")
)

// The codes of an Error.
const (
	CodeParse       = "parse_error"
	CodeType        = "type_error"
	CodeBuiltin     = "builtin_not_allowed"
	CodeCheck       = "malformed_check"
	CodePackage     = "package_not_allowed"
	CodeSettings    = "bad_settings"
	CodeNoDeny      = "no_denying_check"
	CodeCompile     = "compile_error"
	CodeEvaluation  = "evaluation_error"
	CodeBadData     = "bad_data"
	CodeEmptySource = "empty_source"
	CodeBadTest     = "bad_test"
)

// Error is one thing that is wrong with a policy, with the place in its source where that is known.
type Error struct {
	Code     string
	File     string
	Row, Col int
	Message  string
	// Err is the evaluation error behind CodeEvaluation, else nil.
	Err error
}

func (e *Error) Error() string {
	if e.File == "" {
		return e.Message
	}
	if e.Row == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Row, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// Errors is everything that is wrong with a policy, in file order.
type Errors []*Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// sort brings the errors into the order of files and rows.
func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b *Error) int { return cmp.Or(strings.Compare(a.File, b.File), a.Row-b.Row) })
}

// orNil keeps an empty list from becoming a non-nil error.
func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

func at(code string, loc *ast.Location, format string, args ...any) *Error {
	e := &Error{Code: code, Message: fmt.Sprintf(format, args...)}
	if loc != nil {
		e.File, e.Row, e.Col = loc.File, loc.Row, loc.Col
	}
	return e
}
