package output

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes one harmless line of a text that came from a document: white space is folded, and what a terminal would obey
// or not show is written as an escape.
func clean(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// maxHang is how long the lead of a text may be for its further lines to stand below the text.
const maxHang = 11

// wrap breaks a text into lines of at most width columns: the first begins with lead, the others are indented below the
// text behind it, or by two columns where the lead is long. A word that is longer than a line stays whole, so that it can be
// copied.
func wrap(text, indent, lead string, width int) []string {
	hang := len(indent) + utf8.RuneCountInString(lead)
	line, used, empty := indent+lead, hang, true
	if hang-len(indent) > maxHang {
		hang = len(indent) + 2
	}
	var lines []string
	for word := range strings.FieldsSeq(text) {
		size := utf8.RuneCountInString(word)
		if !empty && used+1+size > width {
			lines = append(lines, line)
			line, used, empty = strings.Repeat(" ", hang), hang, true
		}
		if !empty {
			line, used = line+" ", used+1
		}
		line, used, empty = line+word, used+size, false
	}
	return append(lines, line)
}

// pad fills a text that may be painted up to a width in columns.
func pad(text string, width int) string { return text + strings.Repeat(" ", width-visible(text)) }

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
