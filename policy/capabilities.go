package policy

import (
	"slices"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/tiergate/tiergate/policy/internal/host"
)

// hostBuiltins are the functions that OPA's WebAssembly target leaves to its host and that Tiergate provides: those that
// depend on their arguments alone and cost no more than the size of these. What reads a clock, the network, randomness or
// the environment is not here, nor what can answer with more than it was given, such as numbers.range_step.
var hostBuiltins = []string{
	"sprintf", "object.subset", "strings.any_prefix_match", "strings.any_suffix_match", "strings.count",
	"semver.compare", "semver.is_valid", "units.parse", "units.parse_bytes", "json.patch",
	"crypto.sha256", "hex.encode", "hex.decode", "urlquery.encode", "urlquery.decode",
	"time.parse_rfc3339_ns", "time.parse_duration_ns", "net.cidr_is_valid",
}

// nativeBuiltins are the functions that the compiler translates.
var nativeBuiltins = []string{
	"eq", "assign", "equal", "neq", "gt", "gte", "lt", "lte",
	"plus", "minus", "mul", "div", "abs", "round", "ceil", "floor", "rem",
	"array.concat", "array.flatten", "array.reverse", "array.slice", "and", "or", "intersection", "union",
	"is_number", "is_string", "is_boolean", "is_array", "is_set", "is_object", "is_null", "type_name",
	"bits.or", "bits.and", "bits.negate", "bits.xor", "bits.lsh", "bits.rsh",
	"count", "sum", "product", "max", "min", "sort",
	"base64.is_valid", "base64.decode", "base64.encode", "base64url.encode", "base64url.decode",
	"net.cidr_contains", "net.cidr_intersects", "glob.match", "json.marshal", "json.unmarshal", "json.is_valid",
	"object.filter", "object.get", "object.keys", "object.remove", "object.union", "object.union_n",
	"concat", "format_int", "indexof", "substring", "lower", "upper", "contains", "startswith", "endswith",
	"strings.reverse", "split", "replace", "strings.replace_n", "trim", "trim_left", "trim_prefix", "trim_right",
	"trim_suffix", "trim_space", "internal.template_string", "numbers.range", "to_number", "walk", "graph.reachable",
	"regex.is_valid", "regex.match", "regex.find_all_string_submatch_n", "json.remove", "json.filter",
	"internal.member_2", "internal.member_3", "internal.print", "print",
}

// capabilities are what a policy may use; with them the compiler itself refuses the rest.
var capabilities = sync.OnceValue(func() *ast.Capabilities { return only(hostBuiltins, nativeBuiltins) })

// testCapabilities also have what OPA's test runner writes into the rules that it runs in the interpreter.
var testCapabilities = sync.OnceValue(func() *ast.Capabilities {
	return only(hostBuiltins, nativeBuiltins, []string{"internal.test_case"})
})

func only(lists ...[]string) *ast.Capabilities {
	all := ast.CapabilitiesForThisVersion()
	allowed := map[string]bool{}
	for _, list := range lists {
		for _, name := range list {
			allowed[name] = true
		}
	}
	out := *all
	out.Builtins = nil
	for _, b := range all.Builtins {
		if allowed[b.Name] {
			out.Builtins = append(out.Builtins, b)
		}
	}
	out.AllowNet = []string{}
	return &out
}

// isBuiltin tells OPA's functions, allowed here or not, from names that nobody knows.
func isBuiltin(name string) bool {
	return slices.ContainsFunc(ast.CapabilitiesForThisVersion().Builtins, func(b *ast.Builtin) bool { return b.Name == name })
}

func builtins() host.Builtins { return host.Builtins{Lookup: topdown.GetBuiltin} }
