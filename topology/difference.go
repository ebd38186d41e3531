package topology

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// The bounds of what is listed of two configurations that differ.
const (
	maxDifferences = 16
	maxDepth       = 16
)

// difference lists the places in which two JSON documents differ.
type difference struct {
	fields []string
	more   int
}

// appendTransferDifference lists where a KV transfer configuration is not like the first one.
func appendTransferDifference(fields []string, this, first []byte) []string {
	a, readable := parseTransfer(this)
	b, firstReadable := parseTransfer(first)
	if !readable || !firstReadable {
		return append(fields, fmt.Sprintf("kv_transfer: %s, not %s", readability(readable, this), readability(firstReadable, first)))
	}
	d := difference{fields: fields}
	d.compare(place{path: "kv_transfer"}, a, b)
	if d.more > 0 {
		d.fields = append(d.fields, fmt.Sprintf("kv_transfer: %d more differences", d.more))
	}
	return d.fields
}

func readability(readable bool, raw []byte) string {
	if readable {
		return fmt.Sprintf("JSON of %d bytes", len(raw))
	}
	return fmt.Sprintf("%d bytes that are no JSON", len(raw))
}

// absent stands for a key or element that one side does not have.
type absent struct{}

// place is where a value stands in a document. Secret is true below a key that names a credential.
type place struct {
	path   string
	depth  int
	secret bool
}

func (p place) key(key string) place {
	return place{p.path + "." + shorten(key), p.depth + 1, p.secret || Credential(key)}
}

func (p place) element(i int) place {
	return place{p.path + "[" + strconv.Itoa(i) + "]", p.depth + 1, p.secret}
}

// compare walks two values down to maxDepth and records where they differ.
func (d *difference) compare(at place, this, first any) {
	if at.depth < maxDepth {
		switch a := this.(type) {
		case map[string]any:
			if b, ok := first.(map[string]any); ok {
				d.compareObjects(at, a, b)
				return
			}
		case []any:
			if b, ok := first.([]any); ok {
				d.compareLists(at, a, b)
				return
			}
		}
	}
	switch {
	case reflect.DeepEqual(this, first):
	case len(d.fields) >= maxDifferences:
		d.more++
	default:
		d.fields = append(d.fields, at.path+": "+contrast(this, first, at.secret))
	}
}

func (d *difference) compareObjects(at place, this, first map[string]any) {
	keys := slices.Collect(maps.Keys(this))
	for key := range first {
		if _, both := this[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		a, b := any(absent{}), any(absent{})
		if value, ok := this[key]; ok {
			a = value
		}
		if value, ok := first[key]; ok {
			b = value
		}
		d.compare(at.key(key), a, b)
	}
}

func (d *difference) compareLists(at place, this, first []any) {
	for i := range max(len(this), len(first)) {
		a, b := any(absent{}), any(absent{})
		if i < len(this) {
			a = this[i]
		}
		if i < len(first) {
			b = first[i]
		}
		d.compare(at.element(i), a, b)
	}
}
