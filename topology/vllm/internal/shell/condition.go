package shell

import (
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// truth is the answer to a condition.
type truth int

const (
	open truth = iota
	yes
	no
)

func answer(holds bool) truth {
	if holds {
		return yes
	}
	return no
}

func (t truth) not() truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return open
}

// decide leaves the scope to the way that an answer opens, or to both.
func decide(t truth, s *scope) flow {
	switch t {
	case yes:
		return flow{ok: s}
	case no:
		return flow{failed: s}
	}
	return flow{s, s}
}

// test answers test and [ for up to three arguments; conditions on files and longer ones stay open.
func test(args []string) truth {
	for _, arg := range args {
		if Splits(arg) {
			return open
		}
	}
	switch {
	case len(args) == 0:
		return no
	case len(args) > 1 && args[0] == "!":
		return test(args[1:]).not()
	case len(args) == 1:
		return unaryTest("-n", args[0])
	case len(args) == 2:
		return unaryTest(args[0], args[1])
	case len(args) == 3:
		return binaryTest(args[1], args[0], args[2])
	}
	return open
}

func unaryTest(op, x string) truth {
	switch {
	case IsUnknown(x):
		return open
	case op == "-n":
		return answer(x != "")
	case op == "-z":
		return answer(x == "")
	}
	return open
}

func binaryTest(op, x, y string) truth {
	if IsUnknown(x) || IsUnknown(y) {
		return open
	}
	switch op {
	case "=", "==":
		return answer(x == y)
	case "!=":
		return answer(x != y)
	}
	a, errX := strconv.Atoi(x)
	b, errY := strconv.Atoi(y)
	if errX != nil || errY != nil {
		return open
	}
	switch op {
	case "-eq":
		return answer(a == b)
	case "-ne":
		return answer(a != b)
	case "-lt":
		return answer(a < b)
	case "-le":
		return answer(a <= b)
	case "-gt":
		return answer(a > b)
	case "-ge":
		return answer(a >= b)
	}
	return open
}

// testClause answers [[ ... ]]. A pattern on the right of == stays open.
func (in *interpreter) testClause(expr syntax.TestExpr, s *scope) truth {
	switch expr := expr.(type) {
	case *syntax.Word:
		return unaryTest("-n", in.literal(expr, s))
	case *syntax.ParenTest:
		return in.testClause(expr.X, s)
	case *syntax.UnaryTest:
		if expr.Op == syntax.TsNot {
			return in.testClause(expr.X, s).not()
		}
		if word, ok := expr.X.(*syntax.Word); ok {
			return unaryTest(expr.Op.String(), in.literal(word, s))
		}
	case *syntax.BinaryTest:
		return in.binaryClause(expr, s)
	}
	return open
}

func (in *interpreter) binaryClause(expr *syntax.BinaryTest, s *scope) truth {
	if expr.Op == syntax.AndTest || expr.Op == syntax.OrTest {
		x, y := in.testClause(expr.X, s), in.testClause(expr.Y, s)
		decisive := answer(expr.Op == syntax.OrTest)
		switch {
		case x == decisive || y == decisive:
			return decisive
		case x == open || y == open:
			return open
		}
		return decisive.not()
	}
	x, okX := expr.X.(*syntax.Word)
	y, okY := expr.Y.(*syntax.Word)
	if !okX || !okY || isGlob(y.Lit()) || expr.Op == syntax.TsReMatch {
		return open
	}
	return binaryTest(expr.Op.String(), in.literal(x, s), in.literal(y, s))
}

// arithmeticCommand follows (( ... )).
func (in *interpreter) arithmeticCommand(command *syntax.ArithmCmd, s *scope) flow {
	value, reason := in.arithmetic(command.X, s)
	if reason != "" {
		s.forget("is set by "+in.source(command)+", which is not worked out", assigned(command)...)
		return flow{s, s}
	}
	return decide(answer(value != "0"), s)
}
