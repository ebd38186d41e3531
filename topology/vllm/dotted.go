package vllm

import (
	"strings"

	"github.com/tiergate/tiergate/topology"
)

// dottedHead collects what the dotted forms of one flag set, e.g. --kv-transfer-config.kv_role kv_both. vLLM makes one JSON
// object of them and appends it to the command line, in the order in which the heads first appear.
type dottedHead struct {
	name string
	// first is the first form that was used, for messages.
	first  string
	object value
}

// dottedOption reads --flag.key.key value. Whatever the next token is, it is the value.
func (s *scanner) dottedOption(name, text string, assigned bool) {
	missing := !assigned && s.i+1 == len(s.tokens)
	if !assigned && !missing {
		s.i++
		text = s.tokens[s.i]
	}
	head, keys, _ := strings.Cut(name, ".")
	if id, _ := findFlag(head); id != flagTransfer {
		return
	}
	if missing {
		s.refuse(topology.Refusal{Check: checkOffload, Setting: name, Reason: "a dotted key needs a value",
			Fix: "give " + name + " a value"})
		return
	}
	v := s.dottedValue(text, strings.HasSuffix(keys, "+"))
	path := strings.Split(strings.TrimSuffix(keys, "+"), ".")
	for i := range path {
		v = value{kind: '{', members: []member{{path[len(path)-1-i], v}}}
	}
	for i := range s.dotted {
		if s.dotted[i].name == head {
			s.dotted[i].object.update(v)
			return
		}
	}
	s.dotted = append(s.dotted, dottedHead{head, name, v})
}

// dottedValue reads the value of a dotted key: a list of texts behind a plus; else JSON, a number with a unit, or text.
func (s *scanner) dottedValue(text string, list bool) value {
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
