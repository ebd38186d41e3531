package input

import (
	"strings"
	"unicode"
	"unicode/utf8"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// Command is the input for a command and the environment, a list of NAME=value, that it would run in.
func Command(args, env []string) Input {
	launch := &v1.Launch{Engine: v1.Engine{Command: args, Env: readable(args, env)}}
	return Input{Source: title(args), Launch: launch}
}

// titleLength bounds the source of a command, in bytes.
const titleLength = 60

// title is what a reader recognises a command by: its first three words, as in "vllm serve model-x".
func title(args []string) string {
	text := strings.Join(strings.Fields(strings.Join(args[:min(3, len(args))], " ")), " ")
	if len(text) <= titleLength {
		return text
	}
	cut := titleLength
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}

// readable picks the variables that can change what the command does to the topology: vLLM's own, and those that the
// command names. The rest stays here, since a service may be asked; so do credentials.
func readable(args, env []string) map[string]string {
	named := map[string]bool{}
	for _, arg := range args {
		for word := range strings.FieldsFuncSeq(arg, func(r rune) bool { return !isNameRune(r) }) {
			named[word] = true
		}
	}
	picked := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if (named[name] || strings.HasPrefix(name, "VLLM_")) && !topology.Credential(name) {
			picked[name] = value
		}
	}
	return picked
}

// isNameRune tells the characters of names of variables.
func isNameRune(r rune) bool {
	return r == '_' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
