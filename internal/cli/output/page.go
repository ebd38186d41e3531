package output

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// page collects lines of text.
type page struct {
	Style
	b strings.Builder
}

func (p *page) flush(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (p *page) blank() { p.b.WriteByte('\n') }

// text writes one line as it is.
func (p *page) text(indent, line string) {
	p.b.WriteString(strings.TrimRight(indent+line, " "))
	p.b.WriteByte('\n')
}

// heading writes a text behind words that may be painted.
func (p *page) heading(indent, words, text string) {
	lines := wrap(text, indent, strings.Repeat("_", visible(words))+" ", p.Width)
	p.text(indent, words+lines[0][len(indent)+visible(words):])
	for _, line := range lines[1:] {
		p.text("", line)
	}
}

// item writes a wrapped text behind a lead such as "- ".
func (p *page) item(indent, lead, text string) {
	for _, line := range wrap(clean(text), indent, lead, p.Width) {
		p.text("", line)
	}
}

// columns writes entries in as many columns as the page has room for, line by line.
func (p *page) columns(indent string, entries []string) {
	const gap = 3
	width := gap
	for _, entry := range entries {
		width = max(width, visible(entry)+gap)
	}
	perLine := max((p.Width-len(indent)+gap)/width, 1)
	for line := range slices.Chunk(entries, perLine) {
		text := ""
		for _, entry := range line {
			text += entry + strings.Repeat(" ", width-visible(entry))
		}
		p.text(indent, text)
	}
}

// visible is the number of columns that a painted text takes.
func visible(text string) int {
	columns := 0
	for len(text) > 0 {
		if rest, painted := strings.CutPrefix(text, "\x1b["); painted {
			_, text, _ = strings.Cut(rest, "m")
			continue
		}
		_, size := utf8.DecodeRuneInString(text)
		columns, text = columns+1, text[size:]
	}
	return columns
}
