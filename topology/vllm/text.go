package vllm

import (
	"fmt"
	"strings"
	"unicode/utf8"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology/vllm/internal/shell"
)

// The bounds of a command. Linux itself takes no longer argument or variable; no engine has nearly as many arguments.
const (
	maxArguments = 4096
	maxText      = 128 << 10
)

// checkText refuses what no command can hold, and the characters that stand for unknown text here.
func checkText(engine *v1.Engine) error {
	if len(engine.Command) > maxArguments {
		return tooManyArguments(len(engine.Command))
	}
	for i, arg := range engine.Command {
		if err := textError(arg); err != nil {
			err.Pointer = commandPointer(i)
			return err
		}
	}
	first := ""
	for name, value := range engine.Env {
		if textError(value) != nil && (first == "" || name < first) {
			first = name
		}
	}
	if first == "" {
		return nil
	}
	err := textError(engine.Env[first])
	err.Pointer = "/engine/env/" + pointerName.Replace(first)
	return err
}

var pointerName = strings.NewReplacer("~", "~0", "/", "~1")

func tooManyArguments(n int) *Error {
	return &Error{Code: CodeTooLarge, Pointer: "/engine/command", Detail: fmt.Sprintf("the command has %d arguments; "+
		"at most %d are read; leave out those that the engine does not need", n, maxArguments)}
}

func textError(text string) *Error {
	switch {
	case len(text) > maxText:
		return &Error{Code: CodeTooLarge, Detail: fmt.Sprintf("the text has %d bytes; no argument or variable may "+
			"have more than %d; shorten it", len(text), maxText)}
	case strings.IndexByte(text, 0) >= 0:
		return &Error{Code: CodeText, Detail: "the text holds a NUL character, which no command or variable can; " +
			"remove it"}
	case !utf8.ValidString(text):
		return &Error{Code: CodeText, Detail: "the text is not valid UTF-8; write it in UTF-8"}
	case shell.IsUnknown(text):
		return &Error{Code: CodeText, Detail: "the text holds a character of the private-use plane 16 (U+100000 and " +
			"above), which is not read; remove it"}
	}
	return nil
}
