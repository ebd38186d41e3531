package output

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Style says how text for people is laid out.
type Style struct {
	// Width is in columns.
	Width  int
	Colour bool
	// Verbose shows every check, every violation and every row of the grid.
	Verbose bool
	// Grid draws the rank grid also where no group spans nodes.
	Grid bool
}

// Lines are as wide as the terminal, within what can be read at a glance.
const (
	minWidth     = 80
	maxWidth     = 120
	defaultWidth = 100
)

// StyleFor returns the style that fits where the text goes. Colour is for terminals, unless NO_COLOR or TERM=dumb forbids it
// or CLICOLOR_FORCE or FORCE_COLOR asks for it; NO_COLOR wins. The environment is a list of NAME=value.
func StyleFor(w io.Writer, env []string) Style {
	s := Style{Width: defaultWidth}
	file, isFile := w.(*os.File)
	terminal := isFile && term.IsTerminal(int(file.Fd()))
	if terminal {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
			s.Width = min(max(columns, minWidth), maxWidth)
		}
	}
	forced := isSet(env, "CLICOLOR_FORCE") || isSet(env, "FORCE_COLOR")
	forbidden := lookup(env, "NO_COLOR") != ""
	s.Colour = !forbidden && (forced || terminal && lookup(env, "TERM") != "dumb")
	return s
}

func isSet(env []string, name string) bool {
	value := lookup(env, name)
	return value != "" && value != "0"
}

// lookup returns the last value of a variable, as the C library and Go's exec do with doubles.
func lookup(env []string, name string) (value string) {
	for _, entry := range env {
		if v, found := strings.CutPrefix(entry, name+"="); found {
			value = v
		}
	}
	return value
}

// paint wraps text in the escape sequences of a terminal.
func (s Style) paint(code, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// The colours of outcomes.
const (
	red    = "1;31"
	yellow = "1;33"
	green  = "1;32"
	bold   = "1"
	faint  = "2"
)

// domainColours are given to memory domains in turn; red and green are left to outcomes.
var domainColours = []string{"36", "35", "33", "34", "96", "95", "93", "94"}

// domain paints a text in the colour of a memory domain; those below 0 are not known.
func (s Style) domain(index int, text string) string {
	if index < 0 {
		return text
	}
	return s.paint(domainColours[index%len(domainColours)], text)
}
