package policy

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// maxTypeSize is the largest type that a rule's value may have, in parts. OPA's type checker writes shared types out in
// full, so that forty rules which each hold the one before twice take it longer than anyone waits, and nothing can stop
// it. At this size it takes a tenth of a second, and no rule that ships comes near.
const maxTypeSize = 1_000_000

// typeSizes bounds the sizes of the types that the checker is about to build, in time linear in the rules. It is never
// below the real size of a rule's value.
type typeSizes struct {
	compiler *ast.Compiler
	sizes    map[*ast.Rule]float64
	// largest is the rule that a rule's value mostly consists of.
	largest map[*ast.Rule]*ast.Rule
}

// refuseHugeTypes is a stage of the compiler before its type check.
func refuseHugeTypes(c *ast.Compiler) *ast.Error {
	t := typeSizes{compiler: c, sizes: map[*ast.Rule]float64{}, largest: map[*ast.Rule]*ast.Rule{}}
	var first *ast.Rule // the smallest that is too large, because those that hold it are too large for its sake
	for _, name := range sortedModules(c.Modules) {
		for _, rule := range c.Modules[name].Rules {
			if size := t.rule(rule); size > maxTypeSize && (first == nil || size < t.sizes[first]) {
				first = rule
			}
		}
	}
	if first == nil {
		return nil
	}
	return ast.NewError(ast.TypeErr, first.Location, "the type of %s would have %.0f parts, more than %d, because of the chain %s: "+
		"each of them holds the next one more than once; hold it once, or make it a function's argument",
		ruleName(first), t.sizes[first], maxTypeSize, t.chain(first))
}

func ruleName(r *ast.Rule) string {
	return strings.TrimPrefix(r.Ref().GroundPrefix().String(), "data.")
}

func (t *typeSizes) chain(r *ast.Rule) string {
	names := []string{ruleName(r)}
	for next := t.largest[r]; next != nil; next = t.largest[next] {
		names = append(names, fmt.Sprintf("%s (line %d)", ruleName(next), next.Location.Row))
	}
	if n := len(names); n > 6 {
		names = append(names[:4], fmt.Sprintf("%d more", n-5), names[n-1])
	}
	return strings.Join(names, " -> ")
}

// rule is the size of a rule's largest type, and remembers it.
func (t *typeSizes) rule(r *ast.Rule) float64 {
	if size, known := t.sizes[r]; known {
		return size
	}
	t.sizes[r] = 1 // recursion is refused before; this only makes sure of an end
	s := scope{sizes: t, rule: r, bound: map[ast.Var][]*ast.Term{}, vars: map[ast.Var]float64{}}
	ast.WalkExprs(r, s.bind)
	size := s.term(r.Head.Key) + s.term(r.Head.Value)
	for _, term := range r.Head.Reference[1:] {
		size += s.term(term)
	}
	for v := range s.bound {
		size = max(size, s.variable(v))
	}
	if r.Else != nil {
		size = join(r, size, r.Else, t.rule(r.Else))
	}
	t.sizes[r] = size
	return size
}

// join is the size of the union of two rules' types. Values that are only passed on have the type of what they come
// from, so that they add nothing to another one.
func join(a *ast.Rule, aSize float64, b *ast.Rule, bSize float64) float64 {
	if composed(a) && composed(b) {
		return aSize + bSize
	}
	return max(aSize, bSize)
}

func composed(r *ast.Rule) bool {
	found := r.Head.Key != nil
	ast.WalkTerms(r, func(term *ast.Term) bool {
		switch term.Value.(type) {
		case *ast.Array, ast.Object, ast.Set, *ast.ArrayComprehension, *ast.ObjectComprehension, *ast.SetComprehension:
			found = true
		}
		return found
	})
	return found
}
