package output

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Live redraws lines in place on a terminal.
type Live struct {
	w       io.Writer
	columns func() int
	drawn   int
}

// NewLive is nil unless the lines would go to a terminal that obeys.
func NewLive(w io.Writer, env []string) *Live {
	file, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) || lookup(env, "TERM") == "dumb" {
		return nil
	}
	return &Live{w: w, columns: func() int {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			return columns
		}
		return minWidth
	}}
}

// Draw puts lines in place of those that were drawn before. A line as wide as the terminal would move to the next.
func (l *Live) Draw(waiting *Waiting) {
	lines := waiting.Lines(l.columns() - 1)
	fmt.Fprint(l.w, l.above(), strings.Join(lines, "\n"), "\n")
	l.drawn = len(lines)
}

// Erase leaves nothing behind.
func (l *Live) Erase() {
	fmt.Fprint(l.w, l.above())
	l.drawn = 0
}

// above goes back to the first line and clears what is below.
func (l *Live) above() string {
	if l.drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", l.drawn)
}
