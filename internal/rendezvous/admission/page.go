package admission

import (
	"fmt"
	"strings"
)

// some lists the first texts and counts the rest.
func some(texts []string, noun string) string {
	if more := len(texts) - maxNodes; more > 0 {
		return strings.Join(texts[:maxNodes], ", ") + " and " + count(more, "more "+noun)
	}
	return strings.Join(texts, ", ")
}

// page is a message under a bound.
type page struct {
	lines []string
	left  int
}

// add takes a line if there is room for it and for the word of what follows.
func (p *page) add(line string) bool {
	const rest = 40
	line = clean(line, maxLine)
	if len(line)+rest > p.left {
		return false
	}
	p.lines = append(p.lines, line)
	p.left -= len(line) + 1
	return true
}

// list adds up to most of n lines, as far as there is room, and counts the rest.
func (p *page) list(n, most int, noun string, line func(i int) string) {
	for i := range n {
		if i == most || !p.add("- "+line(i)) {
			p.lines = append(p.lines, "- and "+count(n-i, "more "+noun))
			p.left -= len(p.lines[len(p.lines)-1]) + 1
			return
		}
	}
}

func (p *page) text() string { return strings.Join(p.lines, "\n") }

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
