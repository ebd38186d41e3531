package policy

import (
	"reflect"
	"strings"

	"github.com/tiergate/tiergate/topology"
)

// isFact tells whether an input path such as input.engine.world_size is one that facts can have.
func isFact(path string) bool {
	segments := strings.Split(path, ".")
	if segments[0] != "input" || len(segments) < 2 {
		return false
	}
	t := reflect.TypeFor[topology.Facts]()
	for _, name := range segments[1:] {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return false
		}
		field, ok := fieldByJSON(t, name)
		if !ok {
			return false
		}
		t = field.Type
	}
	return true
}

func fieldByJSON(t reflect.Type, name string) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// factNeeds says which optional parts of the facts the enabled checks ask for.
func factNeeds(checks []*Check) (n topology.Needs) {
	for _, c := range checks {
		for _, need := range c.Needs {
			if c.Disabled == nil {
				n.Workers = n.Workers || strings.HasPrefix(need, "input.workers")
				n.DCP = n.DCP || strings.HasPrefix(need, "input.groups.dcp")
				n.DP = n.DP || strings.HasPrefix(need, "input.groups.dp")
				n.EP = n.EP || strings.HasPrefix(need, "input.groups.ep")
			}
		}
	}
	return n
}
