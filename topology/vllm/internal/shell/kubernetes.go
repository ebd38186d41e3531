package shell

import "strings"

// expandKubernetes replaces $(NAME) as the kubelet does before it starts a container: a name that lookup knows by its
// value, any other left as it is, and $$ by $. A shell then sees what is left as a command substitution.
func expandKubernetes(text string, lookup func(name string) (string, bool)) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var out strings.Builder
	for text != "" {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			break
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		switch value, known := lookup(name); {
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			rest = after[1:]
		case !strings.HasPrefix(after, "(") || !closed:
			out.WriteByte('$')
			rest = after
		case known:
			out.WriteString(value)
		default:
			out.WriteString("$(" + name + ")")
		}
		text = rest
	}
	return out.String()
}

// markReferences makes every $(NAME) that was left of a plain argument unknown: the name may come from a source that
// the launch does not show, such as envFrom.
func (u *Unknowns) markReferences(text string) string {
	if !strings.Contains(text, "$(") {
		return text
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$(")
		name, rest, closed := strings.Cut(after, ")")
		if !found || !closed {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(before)
		ref := "$(" + name + ")"
		if isName(name) {
			out.WriteString(u.mark(ref, ref+" is not in the container's env", false))
		} else {
			out.WriteString(ref)
		}
		text = rest
	}
}

// isName tells whether a text is a variable's name.
func isName(text string) bool {
	for i, r := range text {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return text != ""
}
