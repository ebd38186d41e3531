package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/tiergate/tiergate/policy/internal/rewrite"
)

// Builtins are the builtin functions that the host lends to its modules.
type Builtins struct {
	// Lookup returns OPA's implementation of a function that is not native to the module, or nil if it is not allowed.
	Lookup func(name string) topdown.BuiltinFunc
}

// Builtin is one host function.
type Builtin struct {
	Name string
	Func topdown.BuiltinFunc
}

// silent lists the module's own builtins that return no value exactly when they fail, by their C names. Not in it are
// min and max, which are rightly undefined for an empty collection, and the comparisons and type tests, which cannot
// fail.
var silent = func() map[string]bool {
	names := map[string]bool{}
	for family, members := range map[string]string{
		"opa_arith_":      "plus minus multiply divide abs round ceil floor rem",
		"opa_array_":      "concat flatten reverse slice",
		"opa_set_":        "diff intersection union",
		"opa_sets_":       "intersection union",
		"opa_bits_":       "or and negate xor shiftleft shiftright",
		"opa_agg_":        "count sum product sort",
		"opa_base64_":     "decode encode url_encode url_decode",
		"opa_cidr_":       "contains intersects",
		"opa_glob_":       "match",
		"opa_json_":       "marshal unmarshal",
		"opa_regex_":      "match find_all_string_submatch",
		"opa_numbers_":    "range",
		"opa_to_":         "number",
		"opa_template_":   "string",
		"builtin_graph_":  "reachable",
		"builtin_object_": "filter get keys remove union union_n",
		"builtin_json_":   "remove filter",
		"opa_strings_": "concat format_int indexof substring lower upper contains startswith endswith reverse split " +
			"replace replace_n trim trim_left trim_prefix trim_right trim_suffix trim_space",
	} {
		for member := range strings.FieldsSeq(members) {
			names[family+member] = true
		}
	}
	return names
}()

func failsSilently(name string) bool { return silent[name] }

// siteError is the failure of one of the module's own builtins.
func siteError(site rewrite.Site) *Error {
	name := strings.TrimPrefix(strings.TrimPrefix(site.Builtin, "opa_"), "builtin_")
	return &Error{Kind: ErrBuiltin, Rule: rulePath(site.Rule), Detail: name + " refused its arguments"}
}

// rulePath turns the name of a module's function, g0.data.pkg.rule, into the path of the rule.
func rulePath(function string) string {
	_, path, _ := strings.Cut(function, ".")
	return path
}

// callBuiltin runs a host function for the module. Its arguments are read straight from the module's values. A failure
// is remembered and ends the evaluation as an error, whatever the rule made of the missing value.
func (in *Instance) callBuiltin(id uint32, args []uint64) uint32 {
	if int(id) >= len(in.module.calls) || in.module.calls[id].Func == nil {
		panic(abort{&Error{Kind: ErrTrap, Detail: fmt.Sprintf("the module calls host function %d without a name", id)}})
	}
	in.lookAtClock() // a call may take long and is no step
	b := in.module.calls[id]
	operands := make([]*ast.Term, len(args))
	for i, addr := range args {
		v, err := in.readValue(uint32(addr))
		if err != nil {
			panic(in.builtinAbort(b.Name, err))
		}
		operands[i] = ast.NewTerm(v)
	}
	var out *ast.Term
	err := b.Func(topdown.BuiltinContext{Context: in.eval.Context}, operands, func(t *ast.Term) error {
		out = t
		return nil
	})
	if err != nil {
		if in.builtinErr == nil {
			in.builtinErr = &Error{Kind: ErrBuiltin, Rule: in.siteRule(), Detail: b.Name + ": " + err.Error()}
		}
		return 0
	}
	if out == nil {
		return 0
	}
	addr, err := in.writeValue(out.Value)
	if err != nil {
		panic(in.builtinAbort(b.Name, err))
	}
	return addr
}

// siteRule is the rule that calls a host function now.
func (in *Instance) siteRule() string {
	if site := uint32(in.site.Get()); site > 0 && int(site) <= len(in.module.sites) {
		return rulePath(in.module.sites[site-1].Rule)
	}
	return ""
}

// builtinAbort adds to an error in passing values that it was for the named host function.
func (in *Instance) builtinAbort(name string, err error) abort {
	out := Error{Kind: ErrTrap, Detail: err.Error()}
	var e *Error
	if errors.As(err, &e) {
		out = *e
	}
	out.Rule, out.Detail = in.siteRule(), name+": "+out.Detail
	return abort{&out}
}

// writeValue stores a value in Rego syntax and has the module parse it.
func (in *Instance) writeValue(v ast.Value) (uint32, error) {
	left := readBytes
	if err := fits(v, &left, 0); err != nil {
		return 0, err
	}
	text := []byte(v.String())
	addr, err := in.write(text)
	if err != nil {
		return 0, err
	}
	addr, err = in.call(in.parse, uint64(addr), uint64(len(text)))
	if err == nil && addr == 0 {
		err = &Error{Kind: ErrTrap, Detail: "the module cannot read the result"}
	}
	return addr, err
}

// fits takes from left about as much as a value prints: json.patch can make a value that contains another one any number
// of times, or as deep as it has operations.
func fits(v ast.Value, left *int, depth int) (err error) {
	if depth > maxDepth {
		return &Error{Kind: ErrStack, Detail: fmt.Sprintf("the result is nested deeper than %d", maxDepth)}
	}
	inside := func(t *ast.Term) {
		if err == nil {
			err = fits(t.Value, left, depth+1)
		}
	}
	*left -= 4
	switch v := v.(type) {
	case ast.String:
		*left -= len(v)
	case ast.Number:
		*left -= len(v)
	case *ast.Array:
		v.Foreach(inside)
	case ast.Set:
		v.Foreach(inside)
	case ast.Object:
		v.Foreach(func(key, value *ast.Term) {
			inside(key)
			inside(value)
		})
	}
	if *left < 0 && err == nil {
		err = &Error{Kind: ErrMemory, Detail: fmt.Sprintf("the result exceeds %d bytes", readBytes)}
	}
	return err
}
