package vllm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNoEngine is in the chain of the error for a command that starts no vLLM engine. Readers of manifests skip such
// containers.
var ErrNoEngine = errors.New("no vLLM engine command")

// The codes of an Error. They are stable: services pass them on to programs.
const (
	CodeNoEngine       = "no_engine"
	CodeSeveralEngines = "several_engines"
	CodeContradiction  = "contradiction"
	CodeScript         = "unreadable_script"
	CodeTooLarge       = "script_too_large"
	CodeText           = "invalid_text"
)

// Error is a launch whose engine cannot be read. What vLLM would refuse is no error but a topology.Refusal.
type Error struct {
	Code string
	// Pointer is the JSON pointer of the offending value in the launch document, e.g. /engine/command/2.
	Pointer string
	// Line and Column count from 1 inside a script; 0 where the error is not at a place in one.
	Line, Column uint
	// Detail is for people: what was seen, what is allowed, what to do.
	Detail string

	err error
}

// Error gives the position and the detail.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Pointer + ": " + e.Detail
	}
	return fmt.Sprintf("%s, line %d, column %d: %s", e.Pointer, e.Line, e.Column, e.Detail)
}

// Unwrap gives ErrNoEngine for the code no_engine.
func (e *Error) Unwrap() error { return e.err }

// commandPointer is the JSON pointer of an argument of the command.
func commandPointer(i int) string { return "/engine/command/" + strconv.Itoa(i) }

// shown bounds what a message repeats of a value that may be long or hostile. Bytes.
const shown = 60

// shorten makes one short line of a text.
func shorten(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(text) <= shown {
		return text
	}
	return strings.ToValidUTF8(text[:shown], "") + "..."
}
