package host

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// The ways in which an evaluation can fail. Each is what errors.Is finds in an *Error.
var (
	// ErrDeadline: the context ended first; it also matches context.DeadlineExceeded or context.Canceled.
	ErrDeadline = errors.New("evaluation stopped at its deadline")
	// ErrBudget: the evaluation took more steps than it may.
	ErrBudget = errors.New("evaluation used up its budget of steps")
	// ErrMemory: it needed more memory than its maximum.
	ErrMemory = errors.New("evaluation needs more memory than its maximum")
	// ErrStack: calls or values nested too deeply.
	ErrStack = errors.New("evaluation nested too deeply")
	// ErrConflict: a rule or object got two different values.
	ErrConflict = errors.New("evaluation gave conflicting values")
	// ErrBuiltin: a builtin function failed, e.g. a division by zero.
	ErrBuiltin = errors.New("builtin function failed")
	// ErrInput: the input is not JSON, or has a name twice in one object.
	ErrInput = errors.New("input is not proper JSON")
	// ErrLayout: the module does not lay out values as those of the OPA version that this program was built with.
	ErrLayout = fmt.Errorf("module is not one of OPA's wasm ABI %d.%d, which this program was built for",
		abiVersion, abiMinor)
	// ErrTrap: the module did something that WebAssembly forbids.
	ErrTrap = errors.New("evaluation trapped")
)

// ErrCompile: wazero cannot make machine code of a module, or cannot read what it kept of it.
var ErrCompile = errors.New("compile module")

// Error is a failed evaluation.
type Error struct {
	// Kind is one of the sentinels above.
	Kind error
	// Detail is what the module or the builtin said.
	Detail string
	// Rule is the path of the rule that was running, e.g. data.tiergate.checks.tiering.node_local.violations; empty
	// where it is not known.
	Rule string
	// File and Row are the place that the module named itself; zero where it named none.
	File string
	Row  int

	cause error
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		fmt.Fprintf(&b, "%s:%d: ", e.File, e.Row)
	}
	b.WriteString(e.Kind.Error())
	if e.Rule != "" {
		b.WriteString(" in " + e.Rule)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

// Unwrap lets errors.Is find the kind and, behind ErrDeadline, the context's own error.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.cause}
}

// abort is what a host function panics with to leave the module.
type abort struct{ err *Error }

func (a abort) Error() string { return a.err.Error() }

// failed turns what wazero returned into an *Error. wazero's text carries the stack of the module with the names of
// its functions, from which the running rule is known.
func failed(err error) *Error {
	trace := err.Error()
	out := &Error{Kind: ErrTrap, Detail: firstLine(trace)}
	var a abort
	switch {
	case errors.As(err, &a):
		*out = *a.err
	case strings.Contains(trace, "stack overflow"):
		out = &Error{Kind: ErrStack}
	}
	if out.Rule == "" {
		if m := tracedRule.FindStringSubmatch(trace); m != nil {
			out.Rule = m[1]
		}
	}
	return out
}

var tracedRule = regexp.MustCompile(`(?m)^\s*(?:\S*\.)?g\d+\.(data\.[^(]+)\(`)

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func deadline(ctx context.Context) *Error {
	cause := context.Cause(ctx)
	if cause == nil {
		cause = context.DeadlineExceeded
	}
	return &Error{Kind: ErrDeadline, cause: cause}
}
