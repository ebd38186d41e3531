package shell

import (
	"strconv"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// arithmetic computes an expression whose every operand is a whole number, or says why it cannot be computed. The
// shell would take a variable that is not set as 0 and evaluate text as a further expression; neither is what the
// author meant.
func (in *interpreter) arithmetic(expr syntax.ArithmExpr, s *scope) (value, reason string) {
	reduced, reason := in.reduce(expr, s)
	if reason != "" {
		return "", reason
	}
	n, err := expand.Arithm(&expand.Config{Env: s}, reduced)
	if err != nil {
		return "", err.Error()
	}
	return strconv.Itoa(n), ""
}

// reduce puts numbers in the place of words, or says which operand or operator stands in the way.
func (in *interpreter) reduce(expr syntax.ArithmExpr, s *scope) (syntax.ArithmExpr, string) {
	switch expr := expr.(type) {
	case *syntax.Word:
		value, reason := in.operand(expr, s)
		return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: value}}}, reason
	case *syntax.ParenArithm:
		return in.reduce(expr.X, s)
	case *syntax.UnaryArithm:
		if expr.Op == syntax.Plus || expr.Op == syntax.Minus || expr.Op == syntax.Not {
			x, reason := in.reduce(expr.X, s)
			return &syntax.UnaryArithm{Op: expr.Op, X: x}, reason
		}
	case *syntax.BinaryArithm:
		if !computed[expr.Op] {
			break
		}
		x, reason := in.reduce(expr.X, s)
		if reason != "" {
			return nil, reason
		}
		y, reason := in.reduce(expr.Y, s)
		return &syntax.BinaryArithm{Op: expr.Op, X: x, Y: y}, reason
	}
	return nil, "it has an operator that is not worked out"
}

// computed are the binary operators that leave every variable as it is.
var computed = map[syntax.BinAritOperator]bool{
	syntax.Add: true, syntax.Sub: true, syntax.Mul: true, syntax.Quo: true, syntax.Rem: true,
	syntax.Eql: true, syntax.Neq: true, syntax.Lss: true, syntax.Leq: true, syntax.Gtr: true, syntax.Geq: true,
	syntax.AndArit: true, syntax.OrArit: true, syntax.TernQuest: true, syntax.TernColon: true,
}

// operand is the number that a word of an expression stands for, or why there is none.
func (in *interpreter) operand(word *syntax.Word, s *scope) (value, reason string) {
	value = in.literal(word, s)
	if isName(value) {
		v := s.Get(value)
		if !v.Set {
			return "", "$" + value + " is not set in the container's env"
		}
		if reason := in.unknowns.variableReason(v); reason != "" {
			return "", reason
		}
		value = v.String()
	}
	if reason := in.unknowns.Reason(value); reason != "" {
		return "", reason
	}
	if n, err := strconv.Atoi(value); err != nil || strconv.Itoa(n) != value {
		return "", strconv.Quote(shorten(value)) + " is not a whole number"
	}
	return value, ""
}
