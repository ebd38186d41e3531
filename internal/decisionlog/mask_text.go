package decisionlog

import (
	"regexp"
	"strings"

	"github.com/tiergate/tiergate/topology"
)

var (
	secretName = regexp.MustCompile(`(?i)[a-z0-9_.-]*(?:secret|passw|credential|access[_-]key|api[_-]?key|private[_-]key|token|auth|authorization)[a-z0-9_-]*`)
	// userInfo is the part of a URL before its host.
	userInfo = regexp.MustCompile(`://([^\s/@"'<>$]+)@`)
	scheme   = regexp.MustCompile(`(?i)^(?:bearer|basic)\s+`)
)

// secretFlag tells whether the arguments behind a flag are secret. That a flag lets browsers send theirs is none.
func secretFlag(arg string) bool {
	name := strings.TrimLeft(arg, "-")
	return !strings.Contains(name, "=") && name != "allow-credentials" && topology.Credential(name)
}

// value masks a text that is secret as a whole, unless it names a variable, whose value is not there.
func (m *masker) value(text string) string {
	if text == "" || strings.HasPrefix(text, "$") {
		return m.text(text)
	}
	return m.hide(text)
}

// text masks the users of URLs, and what stands behind names of secrets: NAME=value, name: "value", --name value, also in
// scripts and in JSON that is quoted several times. The text keeps its structure, so that it is parsed as before.
func (m *masker) text(text string) string {
	if !suspicious([]byte(text)) {
		return text
	}
	text = replaceGroup(userInfo, text, m.hide)
	var out strings.Builder
	copied := 0
	for _, at := range secretName.FindAllStringIndex(text, -1) {
		name := strings.Trim(text[at[0]:at[1]], ".-")
		if at[0] < copied || name == "allow-credentials" || !topology.Credential(name) {
			continue
		}
		start, quote := valueAfter(text, at[0], at[1])
		for start >= 0 {
			end := start + valueEnd(text[start:], quote)
			secret := text[start:end]
			if secret == "" || strings.HasPrefix(secret, maskedPrefix) || strings.ContainsAny(secret[:1], "${[-") && quote == "" ||
				strings.HasPrefix(secret, "$") {
				break
			}
			out.WriteString(text[copied:start])
			out.WriteString(m.hide(secret))
			copied = end
			start = nextWord(text, at[0], end)
		}
	}
	return out.String() + text[copied:]
}

func replaceGroup(pattern *regexp.Regexp, text string, replace func(string) string) string {
	var out strings.Builder
	copied := 0
	for _, at := range pattern.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(text[copied:at[2]])
		out.WriteString(replace(text[at[2]:at[3]]))
		copied = at[3]
	}
	return out.String() + text[copied:]
}

// valueAfter finds where the value behind a name begins, -1 if there is none, and by what it is quoted.
func valueAfter(text string, from, at int) (start int, quote string) {
	rest := text[at:]
	trimmed := strings.TrimLeft(rest, `"'\`)
	trimmed = strings.TrimLeft(trimmed, " \t")
	assigned := strings.TrimLeft(trimmed, ":=")
	switch {
	case assigned != trimmed:
		// ${NAME:-value} has a default.
		if strings.HasPrefix(trimmed, ":-") {
			assigned = trimmed[2:]
		}
	case text[from] == '-' && trimmed != rest:
	default:
		return -1, ""
	}
	assigned = strings.TrimLeft(assigned, " \t")
	value := strings.TrimLeft(assigned, `"'\`)
	quote = assigned[:len(assigned)-len(value)]
	value = value[len(scheme.FindString(value)):]
	return len(text) - len(value), quote
}

// valueEnd is the length of a value: up to the quote that began it, or else to the end of a word.
func valueEnd(text, quote string) int {
	if quote != "" {
		if end := strings.Index(text, quote); end >= 0 {
			return end
		}
	}
	if end := strings.IndexAny(text, " \t\r\n\"'\\,;&|)}]<>`"); end >= 0 {
		return end
	}
	return len(text)
}

// nextWord is where the next value of a flag that takes several begins, -1 if there is none.
func nextWord(text string, flag, end int) int {
	next := strings.TrimLeft(text[end:], " \t")
	if text[flag] != '-' || len(next) == len(text[end:]) || next == "" || strings.ContainsAny(next[:1], "-$\"'\\;&|<>#\n") {
		return -1
	}
	return len(text) - len(next)
}
