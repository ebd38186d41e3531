package shell

import (
	"fmt"
	"strings"
)

// Error is a script that cannot be followed.
type Error struct {
	// Line and Column count from 1; 0 where the whole script is meant.
	Line, Column uint
	// TooLarge tells a script that is beyond the bounds from one that cannot be parsed.
	TooLarge bool
	Detail   string
}

// Error gives the position and the detail.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Detail
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Detail)
}

// shown bounds what a message repeats of a text that may be long or hostile. Bytes.
const shown = 60

// shorten makes one short line of a text.
func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= shown {
		return text
	}
	return strings.ToValidUTF8(text[:shown], "") + "..."
}
