package policy

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// scope is what the variables of one rule stand for. The compiler has given every variable a name of its own by now.
type scope struct {
	sizes *typeSizes
	rule  *ast.Rule
	bound map[ast.Var][]*ast.Term
	vars  map[ast.Var]float64
}

// bind notes what an expression binds variables to: both sides of an equation, and the output of a call.
func (s *scope) bind(expr *ast.Expr) bool {
	if !expr.IsCall() {
		return false
	}
	operands := expr.Operands()
	switch {
	case expr.IsEquality() && len(operands) == 2:
		s.bindTo(operands[0], operands[1])
		s.bindTo(operands[1], operands[0])
	case len(operands) > 0:
		s.bindTo(operands[len(operands)-1], ast.NewTerm(expr.Operator()))
	}
	return false
}

func (s *scope) bindTo(pattern, value *ast.Term) {
	ast.WalkVars(pattern, func(v ast.Var) bool {
		if !ast.RootDocumentNames.Contains(ast.NewTerm(v)) {
			s.bound[v] = append(s.bound[v], value)
		}
		return false
	})
}

func (s *scope) variable(v ast.Var) float64 {
	if size, known := s.vars[v]; known {
		return size
	}
	s.vars[v] = 1
	size := 1.0
	for _, term := range s.bound[v] {
		size = max(size, s.term(term))
	}
	s.vars[v] = size
	return size
}

func (s *scope) term(term *ast.Term) float64 {
	if term == nil {
		return 0
	}
	size := 1.0
	switch value := term.Value.(type) {
	case ast.Var:
		return s.variable(value)
	case ast.Ref:
		return s.ref(value)
	case *ast.Array:
		value.Foreach(func(e *ast.Term) { size += s.term(e) })
	case ast.Set:
		value.Foreach(func(e *ast.Term) { size += s.term(e) })
	case ast.Object:
		value.Foreach(func(k, v *ast.Term) { size += s.term(k) + s.term(v) })
	case *ast.ArrayComprehension:
		size += s.term(value.Term)
	case *ast.SetComprehension:
		size += s.term(value.Term)
	case *ast.ObjectComprehension:
		size += s.term(value.Key) + s.term(value.Value)
	}
	return size
}

// factsSize stands for the types of the facts, which the schema bounds.
const factsSize = 200

// ref is the size of what a reference leads to: a rule, everything under a package, or a part of a variable's value,
// which counts like the whole.
func (s *scope) ref(ref ast.Ref) float64 {
	head, isVar := ref[0].Value.(ast.Var)
	if ref[0].Equal(ast.InputRootDocument) && len(ref) <= 2 {
		return factsSize
	}
	if !isVar || !ref[0].Equal(ast.DefaultRootDocument) {
		return s.variable(head)
	}
	paths := map[string]float64{}
	last := map[string]*ast.Rule{}
	for _, r := range s.sizes.compiler.GetRules(ref) {
		name, size := ruleName(r), s.sizes.rule(r)
		if other := last[name]; other != nil {
			size = join(other, paths[name], r, size)
		}
		paths[name], last[name] = size, r
		if known := s.sizes.largest[s.rule]; known == nil || s.sizes.sizes[known] < s.sizes.sizes[r] {
			s.sizes.largest[s.rule] = r
		}
	}
	size := 1.0
	for _, one := range paths {
		size += one
	}
	return size
}

func sortedModules(modules map[string]*ast.Module) []string { return slices.Sorted(maps.Keys(modules)) }
