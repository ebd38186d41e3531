package output

import (
	"io"
	"slices"
	"strings"
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

// entry is a text behind a head that may be painted.
type entry struct{ head, text string }

func (e entry) width() int { return visible(e.head) + 1 + visible(e.text) }

// columns writes entries in as many columns as the page has room for, line by line.
func (p *page) columns(indent string, entries []entry) {
	const gap = 3
	width := 0
	for _, e := range entries {
		width = max(width, e.width())
	}
	perLine := (p.Width - len(indent) + gap) / (width + gap)
	if perLine < 2 {
		for _, e := range entries {
			p.heading(indent, e.head, e.text)
		}
		return
	}
	for line := range slices.Chunk(entries, perLine) {
		text := ""
		for _, e := range line {
			text += e.head + " " + pad(e.text, width-visible(e.head)-1+gap)
		}
		p.text(indent, text)
	}
}
