package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/tiergate/tiergate/topology"
)

// vocabulary is what a policy's author may have meant. It turns what OPA's compiler says about its own world into what
// is wrong in the author's: facts, rules, functions.
type vocabulary struct{ modules map[string]*ast.Module }

// reword gives an error of OPA's compiler its message, and says whether it is one of a builtin that is not allowed.
func (v vocabulary) reword(e *ast.Error) (message, code string) {
	switch detail := e.Details.(type) {
	case *ast.RefErrInvalidDetail:
		return noSuchField(detail), ""
	case *ast.RefErrUnsupportedDetail:
		if strings.HasPrefix(e.Message, "undefined ref") {
			return fmt.Sprintf("%s is a %s, which has no field %s", detail.Ref[:detail.Pos+1], typeName(detail.Have),
				fieldName(detail.Ref[min(detail.Pos+1, len(detail.Ref)-1)])), ""
		}
		return e.Message, ""
	case *ast.UnificationErrDetail:
		return fmt.Sprintf("a %s and a %s are never equal, so this condition never holds", typeName(detail.Left),
			typeName(detail.Right)), ""
	case *ast.ArgErrDetail:
		name, _, _ := strings.Cut(e.Message, ":")
		return wrongArguments(name, detail), ""
	}
	if name, ok := strings.CutPrefix(e.Message, "undefined function "); ok {
		return v.noSuchFunction(name)
	}
	if name, ok := between(e.Message, "var ", " is unsafe", " is undeclared"); ok {
		return v.noSuchName(name, e.Location), ""
	}
	if name, ok := between(e.Message, "assigned var ", " unused"); ok {
		return fmt.Sprintf("%s gets a value that nothing uses; use it, or leave it out", name), ""
	}
	if name, ok := between(e.Message, "declared var ", " unused"); ok {
		return fmt.Sprintf("%s is declared and nothing uses it; write _ where a value does not matter", name), ""
	}
	if name, ok := between(e.Message, "import ", " unused"); ok {
		return fmt.Sprintf("the import %s is not used; remove it", name), ""
	}
	if name, ok := between(e.Message, "var ", " assigned above"); ok {
		return fmt.Sprintf("%s has a value already, and a variable gets one only once; use another name", name), ""
	}
	return e.Message, ""
}

// between cuts the name out of a message; several ends are alternatives.
func between(message, begin string, ends ...string) (string, bool) {
	rest, ok := strings.CutPrefix(message, begin)
	for _, end := range ends {
		if name, found := strings.CutSuffix(rest, end); ok && found {
			return name, true
		}
	}
	return "", false
}

func noSuchField(d *ast.RefErrInvalidDetail) string {
	parent, path := d.Ref[:d.Pos].String(), d.Ref[:d.Pos+1].String()
	kind := "value"
	if d.Ref[0].Equal(ast.InputRootDocument) {
		kind = "fact"
	}
	if len(d.OneOf) == 0 {
		return fmt.Sprintf("there is no %s %s: what is in %s is found by %s, e.g. with some x in %s", kind, path, parent,
			typeName(d.Want), parent)
	}
	var names []string
	for _, value := range d.OneOf {
		names = append(names, fieldName(ast.NewTerm(value)))
	}
	message := fmt.Sprintf("there is no %s %s", kind, path)
	if near := topology.Nearest(fieldName(d.Ref[d.Pos]), names); near != "" {
		message += fmt.Sprintf("; did you mean %s.%s?", parent, near)
	}
	return fmt.Sprintf("%s\n  %s has %s", message, parent, strings.Join(names, ", "))
}

func fieldName(term *ast.Term) string { return strings.Trim(term.String(), `"`) }

func typeName(t types.Type) string {
	if text := types.Sprint(t); len(text) <= 40 {
		return text
	}
	name, _, _ := strings.Cut(types.Sprint(t), "<")
	return name
}

// wrongArguments leaves out the result, which OPA writes as a further argument.
func wrongArguments(name string, d *ast.ArgErrDetail) string {
	want, have := make([]string, len(d.Want.Args)), []string{}
	for i, t := range d.Want.Args {
		want[i] = types.Sprint(t)
	}
	for _, t := range d.Have {
		if t != nil {
			have = append(have, typeName(t))
		}
	}
	if b := ast.BuiltinMap[name]; b != nil {
		arity := b.Decl.Arity()
		want, have = want[:min(len(want), arity)], have[:min(len(have), arity)]
		name = cmp.Or(b.Infix, name)
	}
	return fmt.Sprintf("%s takes (%s), and is given (%s)", name, strings.Join(want, ", "), strings.Join(have, ", "))
}

// replacements are what to write instead of builtins that are not there.
var replacements = map[string]string{
	"time.now_ns": "use input.now", "sprintf": `use $"... {value} ..."`, "regex.replace": "use replace or strings.replace_n",
	"numbers.range_step": "use numbers.range", "http.send": "put what is asked for into the data",
}

func (v vocabulary) noSuchFunction(name string) (message, code string) {
	if isBuiltin(name) {
		message = fmt.Sprintf("%s is not available: Tiergate allows deterministic builtins with bounded cost only, and this is none "+
			"of them", name)
		if instead, known := replacements[name]; known {
			message += "; " + instead
		}
		return message, CodeBuiltin
	}
	return didYouMean(fmt.Sprintf("there is no function %s", name), name, v.functions()), ""
}

func didYouMean(message, name string, names []string) string {
	near := topology.Nearest(name, names)
	if near == "" { // two letters swapped are two changes, too many in a short name
		at := slices.IndexFunc(names, func(other string) bool { return letters(other) == letters(name) })
		if at < 0 {
			return message
		}
		near = names[at]
	}
	return fmt.Sprintf("%s; did you mean %s?", message, near)
}

func letters(name string) string {
	sorted := []byte(name)
	slices.Sort(sorted)
	return string(sorted)
}

func (v vocabulary) functions() (names []string) {
	for _, b := range capabilities().Builtins {
		names = append(names, b.Name)
	}
	for _, m := range v.modules {
		for _, rule := range m.Rules {
			if len(rule.Head.Args) > 0 {
				names = append(names, rule.Ref().String())
			}
		}
	}
	slices.Sort(names)
	return names
}

func (v vocabulary) noSuchName(name string, loc *ast.Location) string {
	if slices.Contains([]string{"message", "fix", "nodes", "group"}, name) {
		return fmt.Sprintf("%s has no value here; if it is meant as the key of an object, put it in quotes: %q", name, name)
	}
	names := []string{"input", "data"}
	for file, m := range v.modules {
		if loc != nil && file == loc.File {
			names = append(names, v.visible(m)...)
		}
	}
	slices.Sort(names)
	message := fmt.Sprintf("%s has no value here: it is no rule of this package, no import, and no condition gives it one", name)
	return didYouMean(message, name, names)
}

// visible are the names that a module may use as they are.
func (v vocabulary) visible(m *ast.Module) (names []string) {
	for _, i := range m.Imports {
		names = append(names, string(i.Name()))
	}
	for _, other := range v.modules {
		if !other.Package.Equal(m.Package) {
			continue
		}
		for _, rule := range other.Rules {
			names = append(names, fieldName(rule.Head.Ref()[0]))
		}
	}
	return names
}
