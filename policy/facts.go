package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/tiergate/tiergate/topology"
)

// isFact tells whether an input path such as input.engine.world_size is one that facts can have.
func isFact(path string) bool {
	_, ok := factType(path)
	return ok && path != "input"
}

// factType is the Go type that stands at an input path; of lists it is the list, which has no names below it.
func factType(path string) (reflect.Type, bool) {
	segments := strings.Split(path, ".")
	if segments[0] != "input" {
		return nil, false
	}
	t := reflect.TypeFor[topology.Facts]()
	for _, name := range segments[1:] {
		if t.Kind() != reflect.Struct {
			return nil, false
		}
		field, ok := fieldByJSON(t, name)
		if !ok {
			return nil, false
		}
		for t = field.Type; t.Kind() == reflect.Pointer; {
			t = t.Elem()
		}
	}
	return t, true
}

// nearestNeed is what a need that is no fact most likely means.
func (c *Check) nearestNeed(key string) string {
	if key != "needs" {
		return ""
	}
	for _, need := range c.Needs {
		parent, name := "input", ""
		for _, segment := range strings.Split(strings.TrimPrefix(need, "input."), ".") {
			if !isFact(parent + "." + segment) {
				name = segment
				break
			}
			parent += "." + segment
		}
		if near := topology.Nearest(name, fieldsOf(parent)); name != "" && near != "" {
			return fmt.Sprintf("; there is no %s.%s, did you mean %s.%s?", parent, name, parent, near)
		}
	}
	return ""
}

// fieldsOf are the names below a fact.
func fieldsOf(path string) (names []string) {
	t, _ := factType(path)
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func fieldByJSON(t reflect.Type, name string) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// optionalFacts are built only for policies that ask for them in METADATA.
var optionalFacts = []string{"input.workers", "input.groups.dcp", "input.groups.dp", "input.groups.ep"}

// factNeeds says which optional facts the enabled checks ask for.
func factNeeds(checks []*Check) topology.Needs {
	asked := func(fact string) bool {
		return slices.ContainsFunc(checks, func(c *Check) bool { return c.Disabled == nil && c.needs(fact) })
	}
	return topology.Needs{
		Workers: asked("input.workers"), DCP: asked("input.groups.dcp"), DP: asked("input.groups.dp"), EP: asked("input.groups.ep"),
	}
}

// needs tells whether a check asks for a fact or for a part of it.
func (c *Check) needs(fact string) bool {
	return slices.ContainsFunc(c.Needs, func(need string) bool { return need == fact || strings.HasPrefix(need, fact+".") })
}

// unasked finds uses of optional facts that no check asks for: they would always be absent, and a rule that reads them
// would silently never fire. A check must ask itself; for a library any check may.
func unasked(m *ast.Module, own *Check, checks []*Check) (errs Errors) {
	ast.WalkRefs(m, func(ref ast.Ref) bool {
		path := ref.String()
		for _, fact := range optionalFacts {
			if path != fact && !strings.HasPrefix(path, fact+".") && !strings.HasPrefix(path, fact+"[") {
				continue
			}
			askers := checks
			if own != nil {
				askers = []*Check{own}
			}
			if !slices.ContainsFunc(askers, func(c *Check) bool { return c.needs(fact) }) {
				errs = append(errs, at(CodeCheck, ref[0].Location,
					"%s is there only for checks that ask for it: add it to custom.needs in METADATA", fact))
			}
		}
		return false
	})
	return errs
}
