package output

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What is no terminal gets colour only when it is asked for.
func TestStyleOfAFile(t *testing.T) {
	for _, c := range []struct {
		env    []string
		colour bool
	}{
		{nil, false},
		{[]string{"TERM=xterm"}, false},
		{[]string{"FORCE_COLOR=1"}, true},
		{[]string{"CLICOLOR_FORCE=1", "TERM=dumb"}, true},
		{[]string{"FORCE_COLOR=0"}, false},
		{[]string{"FORCE_COLOR="}, false},
		{[]string{"FORCE_COLOR=1", "NO_COLOR=1"}, false},
		{[]string{"FORCE_COLOR=1", "NO_COLOR="}, true},
		{[]string{"NO_COLOR=1", "NO_COLOR=", "FORCE_COLOR=1"}, true},
	} {
		assert.Equal(t, Style{Width: 100, Colour: c.colour}, StyleFor(&bytes.Buffer{}, c.env), "%q", c.env)
	}
}

func TestPaint(t *testing.T) {
	assert.Equal(t, "text", Style{}.paint(red, "text"))
	assert.Equal(t, "\x1b[1;31mtext\x1b[0m", Style{Colour: true}.paint(red, "text"))
	assert.Empty(t, Style{Colour: true}.paint(red, ""))
	assert.Equal(t, "text", Style{Colour: true}.domain(-1, "text"), "a domain that is not known has no colour")
	assert.Equal(t, Style{Colour: true}.domain(0, "text"), Style{Colour: true}.domain(len(domainColours), "text"))
}
