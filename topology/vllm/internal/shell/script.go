package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The bounds of a script. A longer or deeper one is refused before the parser, which recurses, reads it; one that
// takes more steps, as nested loops do, is refused when it does.
const (
	maxScript  = 32 << 10
	maxNesting = 100
	maxSteps   = 4096
	maxDepth   = 400
	// scriptDepth is what a script counts as a level of nesting: each is parsed anew.
	scriptDepth = 20
)

// interpreter follows a script through every way that it may take and collects the programs that it would start. It
// runs nothing: a command has no effect other than that of the shell's own builtins on variables.
type interpreter struct {
	match    Match
	unknowns *Unknowns
	sources  map[syntax.Node]string
	frames   []*frame
	found    []Program
	// others are the commands that were not wanted.
	others []string
	steps  int
	depth  int
	err    *Error
}

// flow is what a command leaves behind: the scope if it succeeds and the scope if it fails. Either is nil where that
// cannot happen, and they are the same where nothing but the status is unknown.
type flow struct{ ok, failed *scope }

// frame is what the commands break, continue and return jump out of.
type frame struct {
	loop           bool
	breaks, repeat *scope
	// locals are the values that a function's local variables had before.
	locals map[string]local
}

// run follows the text of a script.
func (in *interpreter) run(source string, s *scope) flow {
	if in.err != nil {
		return flow{}
	}
	file, err := in.parse(source)
	if err != nil {
		in.err = err
		return flow{}
	}
	in.depth += scriptDepth
	defer func() { in.depth -= scriptDepth }()
	return in.statements(file.Stmts, s)
}

func (in *interpreter) parse(source string) (*syntax.File, *Error) {
	if deep := nesting(source); len(source) > maxScript || deep > maxNesting {
		return nil, &Error{TooLarge: true, Detail: fmt.Sprintf("the script has %d bytes and up to %d nested brackets; "+
			"at most %d bytes and %d brackets are read", len(source), deep, maxScript, maxNesting)}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(source), "")
	if err == nil {
		return file, nil
	}
	failure := &Error{Detail: err.Error()}
	switch err := err.(type) {
	case syntax.ParseError:
		failure.Line, failure.Column, failure.Detail = err.Pos.Line(), err.Pos.Col(), err.Text
	case syntax.LangError:
		failure.Line, failure.Column, failure.Detail = err.Pos.Line(), err.Pos.Col(), err.Feature+" is not read"
	}
	failure.Detail = "the script cannot be parsed: " + shorten(in.unknowns.Reveal(failure.Detail))
	return nil, failure
}

// nesting counts how deep brackets go, quoted or not.
func nesting(source string) int {
	depth, deepest := 0, 0
	for i := 0; i < len(source); i++ {
		switch source[i] {
		case '(', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', '}':
			depth = max(depth-1, 0)
		}
	}
	return deepest
}

// statements follows a list of commands. What comes after a point that is never reached is not followed.
func (in *interpreter) statements(list []*syntax.Stmt, s *scope) flow {
	f := flow{ok: s}
	for i, statement := range list {
		if f = in.statement(statement, s); i == len(list)-1 {
			break
		}
		if s = in.join(f.ok, f.failed, statement); s == nil {
			break
		}
	}
	return f
}

func (in *interpreter) statement(statement *syntax.Stmt, s *scope) flow {
	in.steps++
	in.depth++
	defer func() { in.depth-- }()
	if in.err == nil && (in.steps > maxSteps || in.depth > maxDepth) {
		in.err = &Error{
			TooLarge: true, Line: statement.Pos().Line(), Column: statement.Pos().Col(),
			Detail: fmt.Sprintf("the script takes more than %d steps, or nests its commands more than %d deep",
				maxSteps, maxDepth),
		}
	}
	if in.err != nil {
		return flow{}
	}
	var f flow
	if statement.Background {
		in.subshell(s, func(c *scope) flow { return in.command(statement.Cmd, c) })
		f = flow{ok: s}
	} else {
		f = in.command(statement.Cmd, s)
	}
	if statement.Negated {
		f.ok, f.failed = f.failed, f.ok
	}
	return f
}

func (in *interpreter) command(command syntax.Command, s *scope) flow {
	switch command := command.(type) {
	case nil:
		return flow{ok: s}
	case *syntax.CallExpr:
		return in.call(command, s)
	case *syntax.DeclClause:
		return in.declare(command, s)
	case *syntax.BinaryCmd:
		return in.binary(command, s)
	case *syntax.Block:
		return in.statements(command.Stmts, s)
	case *syntax.Subshell:
		return in.subshell(s, func(c *scope) flow { return in.statements(command.Stmts, c) })
	case *syntax.IfClause:
		return in.ifClause(command, s)
	case *syntax.CaseClause:
		return in.caseClause(command, s)
	case *syntax.WhileClause:
		return in.whileClause(command, s)
	case *syntax.ForClause:
		return in.forClause(command, s)
	case *syntax.FuncDecl:
		if command.Name == nil { // the parser takes a body without a name for a function of zsh
			return in.statement(command.Body, s)
		}
		s.define(command.Name.Value, command.Body)
		return flow{ok: s}
	case *syntax.TestClause:
		return decide(in.testClause(command.X, s), s)
	case *syntax.ArithmCmd:
		return in.arithmeticCommand(command, s)
	case *syntax.TimeClause:
		if command.Stmt == nil {
			return flow{ok: s}
		}
		return in.statement(command.Stmt, s)
	default: // let, coproc and what other shells have
		s.forget("is set by "+in.source(command)+", which is not worked out", assigned(command)...)
		return flow{s, s}
	}
}
