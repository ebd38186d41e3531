package vllm

import (
	"fmt"
	"strconv"

	"github.com/tiergate/tiergate/topology"
)

// compareTransfer reports a kv_transfer field that says otherwise than the command.
func (b *builder) compareTransfer(field, command *value) {
	path, x, y := firstDifference(field, command, topology.SettingTransfer)
	if path == "" {
		return
	}
	spelled := b.args.flags[flagTransfer].spelled
	if n := len(b.args.dotted); n > 0 {
		spelled = b.args.dotted[n-1].first
	}
	b.fail(topology.SettingTransfer, fmt.Sprintf("%s is %s, but %s in the command makes it %s", path, b.show(path, x),
		spelled, b.show(path, y)))
}

func (b *builder) show(path string, v *value) string {
	switch {
	case v == nil:
		return "absent"
	case topology.Credential(path):
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
	sortMembers(a.members)
	sortMembers(b.members)
	i, j := 0, 0
	for i < len(a.members) || j < len(b.members) {
		x, y, name := pair(a.members[i:], b.members[j:])
		if at, x, y := firstDifference(x, y, path+"."+name); at != "" {
			return at, x, y
		}
		i, j = i+1, j+1
	}
	return "", nil, nil
}

// pair gives the values of the first name in two sorted lists, one of which may lack it.
func pair(a, b []member) (x, y *value, name string) {
	switch {
	case len(b) == 0 || len(a) > 0 && a[0].name < b[0].name:
		return &a[0].value, nil, a[0].name
	case len(a) == 0 || b[0].name < a[0].name:
		return nil, &b[0].value, b[0].name
	}
	return &a[0].value, &b[0].value, a[0].name
}
