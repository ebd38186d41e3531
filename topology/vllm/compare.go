package vllm

import (
	"fmt"
	"strconv"

	"github.com/tiergate/tiergate/topology"
)

// compareTransfer reports a kv_transfer field that says otherwise than the command.
func (b *builder) compareTransfer(field, command *value) {
	path, x, y := firstDifference(field, command, topology.SettingTransfer)
	if path == "" || b.err != nil {
		return
	}
	o := b.args.flags[flagTransfer]
	if n := len(b.args.dotted); n > 0 {
		o = occurrence{spelled: b.args.dotted[n-1].first}
	}
	b.err = &Error{Code: CodeContradiction, Pointer: "/engine/kv_transfer", Detail: fmt.Sprintf("%s is %s, but %s in the command "+
		"makes it %s; remove one of them or make them equal", path, b.show(path, x), o.spelled, b.show(path, y))}
}

func (b *builder) show(path string, v *value) string {
	switch {
	case v == nil:
		return "absent"
	case isCredential(path):
		return `"***"`
	}
	return shorten(b.unknowns.Reveal(string(v.canonical(nil, true))))
}

// firstDifference finds the first place where two values differ, or gives an empty path.
func firstDifference(a, b *value, path string) (at string, x, y *value) {
	if a == nil || b == nil || a.kind != b.kind || a.text != b.text || len(a.items) != len(b.items) {
		return path, a, b
	}
	for i := range a.items {
		if at, x, y := firstDifference(&a.items[i], &b.items[i], path+"["+strconv.Itoa(i)+"]"); at != "" {
			return at, x, y
		}
	}
	for i := range a.members {
		name := a.members[i].name
		if at, x, y := firstDifference(&a.members[i].value, b.get(name), path+"."+name); at != "" {
			return at, x, y
		}
	}
	for i := range b.members {
		if name := b.members[i].name; a.get(name) == nil {
			return path + "." + name, nil, &b.members[i].value
		}
	}
	return "", nil, nil
}
