package shell

import (
	"regexp"
	"slices"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// binary follows a && b, a || b and a | b.
func (in *interpreter) binary(command *syntax.BinaryCmd, s *scope) flow {
	if command.Op != syntax.AndStmt && command.Op != syntax.OrStmt {
		in.subshell(s, func(c *scope) flow { return in.statement(command.X, c) })
		return in.subshell(s, func(c *scope) flow { return in.statement(command.Y, c) })
	}
	x := in.statement(command.X, s).split()
	switch {
	case command.Op == syntax.AndStmt && x.ok != nil:
		y := in.statement(command.Y, x.ok)
		return flow{y.ok, in.join(x.failed, y.failed, command.X)}
	case command.Op == syntax.OrStmt && x.failed != nil:
		y := in.statement(command.Y, x.failed)
		return flow{in.join(x.ok, y.ok, command.X), y.failed}
	}
	return x
}

// split gives either way a scope of its own.
func (f flow) split() flow {
	if f.ok != nil && f.ok == f.failed {
		f.failed = f.ok.clone()
	}
	return f
}

// join merges the scopes of two ways through a script. What differs between them depends on the command that decides.
func (in *interpreter) join(a, b *scope, at syntax.Node) *scope {
	switch {
	case a == nil || a == b:
		return b
	case b == nil:
		return a
	}
	joined := a.clone()
	for name, bodies := range b.functions {
		if !slices.Equal(bodies, a.functions[name]) {
			joined.define(name, slices.Concat(a.functions[name], bodies)...)
		}
	}
	for _, vars := range [...]map[string]expand.Variable{a.vars, b.vars} {
		for name := range vars {
			if !sameVariable(a.Get(name), b.Get(name)) {
				joined.forget(in.undecided(at), name)
			}
		}
	}
	if joined.sourced == "" {
		joined.sourced = b.sourced
	}
	if !slices.Equal(a.args, b.args) {
		joined.args = []string{in.unknowns.mark("$@", "$@ "+in.undecided(at), true)}
	}
	return joined
}

func (in *interpreter) undecided(at syntax.Node) string {
	if at == nil {
		return "depends on where a loop or function ends, which is decided only when the script runs"
	}
	return "depends on " + in.source(at) + ", which is decided only when the script runs"
}

// subshell follows commands that cannot change the variables of the shell. Whether they succeed is not known.
func (in *interpreter) subshell(s *scope, body func(*scope) flow) flow {
	frames := in.frames
	in.frames = nil
	body(s.clone())
	in.frames = frames
	return flow{s, s}
}

func (in *interpreter) ifClause(clause *syntax.IfClause, s *scope) flow {
	cond := in.statements(clause.Cond, s).split()
	var yes, no flow
	if cond.ok != nil {
		yes = in.statements(clause.Then, cond.ok)
	}
	switch other := clause.Else; {
	case cond.failed == nil:
	case other == nil:
		no = flow{ok: cond.failed}
	case len(other.Cond) == 0:
		no = in.statements(other.Then, cond.failed)
	default:
		no = in.ifClause(other, cond.failed)
	}
	return in.merge(yes, no, last(clause.Cond))
}

// merge joins what two ways through a script leave behind. Where either may have failed, the status is given up, so
// that one scope stands for both.
func (in *interpreter) merge(a, b flow, at syntax.Node) flow {
	if a.failed == nil && b.failed == nil {
		return flow{ok: in.join(a.ok, b.ok, at)}
	}
	merged := in.join(in.join(a.ok, a.failed, at), in.join(b.ok, b.failed, at), at)
	return flow{merged, merged}
}

// last is the command that decides a list of conditions.
func last(list []*syntax.Stmt) syntax.Node {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

func (in *interpreter) caseClause(clause *syntax.CaseClause, s *scope) flow {
	word := in.literal(clause.Word, s)
	for i, item := range clause.Items {
		matched, known := in.matches(item, word, s)
		if !known || matched && item.Op != syntax.Break {
			return in.anyItem(clause, clause.Items[i:], s)
		}
		if matched {
			return in.statements(item.Stmts, s)
		}
	}
	return flow{ok: s}
}

// anyItem follows every item, as if any of them or none could match.
func (in *interpreter) anyItem(clause *syntax.CaseClause, items []*syntax.CaseItem, s *scope) flow {
	out := flow{ok: s}
	for _, item := range items {
		out = in.merge(out, in.statements(item.Stmts, s.clone()), clause.Word)
	}
	return out
}

// matches tells whether a word matches one of the patterns of an item, if that is known.
func (in *interpreter) matches(item *syntax.CaseItem, word string, s *scope) (matched, known bool) {
	if IsUnknown(word) {
		return false, false
	}
	for _, w := range item.Patterns {
		text, err := expand.Pattern(&expand.Config{Env: s}, in.rewrite(w, s, false))
		if err != nil || IsUnknown(text) {
			return false, false
		}
		expr, err := pattern.Regexp(text, pattern.EntireString)
		if err != nil {
			return false, false
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			return false, false
		}
		if re.MatchString(word) {
			return true, true
		}
	}
	return false, true
}
