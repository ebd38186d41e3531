package vllm

import (
	"strconv"
	"strings"

	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/vllm/internal/shell"
)

// dottedHead collects what the dotted forms of one flag set, e.g. --kv-transfer-config.kv_role kv_both. vLLM makes
// one JSON object of them and appends it to the command line, in the order in which the heads first appear.
type dottedHead struct {
	name string
	// first is the first form that was used, for messages.
	first  string
	object value
}

// token is one argument, with its place among all of them.
type token struct {
	text string
	at   int
}

// takeDotted takes the dotted flags and their values out of the arguments, as vLLM does before it reads any other.
// Whatever follows a dotted flag is its value; a negative number with a fraction counts as such a flag too.
func (a *arguments) takeDotted(args []string) []token {
	rest := make([]token, 0, len(args))
	for i := 0; i < len(args); i++ {
		text := normalize(args[i])
		name, value, assigned := strings.Cut(text, "=")
		if !strings.HasPrefix(name, "-") || !strings.Contains(name, ".") {
			rest = append(rest, token{text, i})
			continue
		}
		missing := !assigned && i+1 == len(args)
		if !assigned && !missing {
			i++
			value = normalize(args[i])
		}
		switch head, keys, _ := strings.Cut(name, "."); {
		case shell.IsUnknown(head):
			a.see(a.Reason(head)+", and it may be a flag itself", i)
		case isTransfer(head):
			a.setDotted(head, keys, value, missing)
		}
	}
	return rest
}

func isTransfer(name string) bool {
	id, _ := findFlag(name)
	return id == flagTransfer
}

// setDotted merges one dotted flag into those with the same head.
func (a *arguments) setDotted(head, keys, text string, missing bool) {
	name := head + "." + keys
	if missing {
		a.refuse(topology.Refusal{
			Check: checkOffload, Setting: name, Reason: "a dotted key needs a value",
			Fix: "give " + name + " a value",
		})
		return
	}
	v := dottedValue(text, strings.HasSuffix(keys, "+"))
	path := strings.Split(strings.TrimSuffix(keys, "+"), ".")
	for i := range path {
		v = value{kind: '{', members: []member{{path[len(path)-1-i], v}}}
	}
	for i := range a.dotted {
		if a.dotted[i].name == head {
			a.dotted[i].object.update(v)
			return
		}
	}
	a.dotted = append(a.dotted, dottedHead{head, name, v})
}

// dottedValue reads the value of a dotted key: a list of texts behind a plus; else JSON, a whole number, or text.
func dottedValue(text string, list bool) value {
	if list {
		out := value{kind: '['}
		for item := range strings.SplitSeq(text, ",") {
			out.items = append(out.items, value{kind: '"', text: item})
		}
		return out
	}
	if v, err := parse([]byte(text)); err == nil {
		return v
	}
	if number, ok := humanInt(strings.TrimSpace(text)); ok {
		return value{kind: '0', text: number}
	}
	if n, ok := parseInt(text); ok {
		return value{kind: '0', text: strconv.FormatInt(n, 10)}
	}
	return value{kind: '"', text: text}
}

// update merges an object into another: objects key by key, lists one behind the other; anything else is replaced.
func (v *value) update(with value) {
	for _, m := range with.members {
		old := v.get(m.name)
		switch {
		case old == nil:
			v.members = append(v.members, m)
		case old.kind == '{' && m.value.kind == '{':
			old.update(m.value)
		case old.kind == '[' && m.value.kind == '[':
			old.items = append(old.items, m.value.items...)
		default:
			*old = m.value
		}
	}
}
