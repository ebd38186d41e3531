package output

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text, indent, lead string
		width              int
		want               []string
	}{
		{"one two three", "", "", 20, []string{"one two three"}},
		{"one two three", "", "", 7, []string{"one two", "three"}},
		{"one two three", "  ", "- ", 11, []string{"  - one two", "    three"}},
		{"one two", " ", "a long lead: ", 18, []string{" a long lead: one", "   two"}},
		{"/a/path/that/is/longer next", "", "- ", 10, []string{"- /a/path/that/is/longer", "  next"}},
		{"größe über", "", "", 5, []string{"größe", "über"}},
		{"", "  ", "- ", 10, []string{"  - "}},
	} {
		assert.Equal(t, c.want, wrap(c.text, c.indent, c.lead, c.width), c.text)
	}
}

// Wrapping changes white space only, and no line is too long unless it is one word.
func TestWrapKeepsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[a-zü/.]{1,30}`)).Draw(t, "words")
		width := rapid.IntRange(1, 60).Draw(t, "width")
		lines := wrap(strings.Join(words, " "), "  ", "- ", width)
		assert.Equal(t, append([]string{"-"}, words...), strings.Fields(strings.Join(lines, "\n")))
		for _, line := range lines {
			assert.True(t, visible(line) <= width || len(strings.Fields(strings.TrimPrefix(line, "  - "))) <= 1, line)
		}
	})
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"plain":             "plain",
		" a\n b\tc ":        "a b c",
		"\x1b[2J":           `\x1b[2J`,
		"bell\x07":          `bell\a`,
		"right\u202eleft":   `right\u202eleft`,
		"zero\u200bwidth":   `zero\u200bwidth`,
		"bad \xff bytes":    `bad \ufffd bytes`,
		"größe 字":           "größe 字",
		`back\slash "quote`: `back\slash "quote`,
	} {
		assert.Equal(t, want, clean(text))
	}
}

func TestVisible(t *testing.T) {
	assert.Equal(t, 5, visible("größe"))
	assert.Equal(t, 3, visible(Style{Colour: true}.paint(red, "abc")))
	assert.Equal(t, 0, visible(""))
}
