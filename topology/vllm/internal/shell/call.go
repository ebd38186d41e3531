package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// call follows a simple command: assignments, or a program with the assignments that only it sees.
func (in *interpreter) call(command *syntax.CallExpr, s *scope) flow {
	args := in.fields(command.Args, s)
	if len(args) == 0 {
		out := flow{ok: s}
		for _, assign := range command.Assigns {
			if in.assign(assign, s); IsUnknown(s.vars[assign.Name.Value].Str) {
				out.failed = s
			}
		}
		return out
	}
	env := s
	if len(command.Assigns) > 0 {
		env = s.clone()
		for _, assign := range command.Assigns {
			in.assign(assign, env)
			env.export(assign.Name.Value)
		}
	}
	bodies, builtin := s.functions[args[0]], builtins[args[0]]
	if bodies == nil && builtin == nil {
		return in.program(args, s, env)
	}
	s.forget("is set for one command only", assigned(&syntax.CallExpr{Assigns: command.Assigns})...)
	if bodies != nil {
		return in.function(bodies, args[1:], s)
	}
	return builtin(in, args, s)
}

// program follows a command that is no part of the shell. env is the scope with the assignments before the command.
func (in *interpreter) program(args []string, s, env *scope) flow {
	after := flow{s, s}
	if args[0] == "exec" {
		if len(args) == 1 {
			return flow{ok: s}
		}
		after = flow{}
	}
	in.start(args, env.child())
	return after
}

// function follows the body of a function, or each of its bodies where it was defined more than once.
func (in *interpreter) function(bodies []*syntax.Stmt, args []string, s *scope) flow {
	var out flow
	for i, body := range bodies {
		c := s
		if i < len(bodies)-1 {
			c = s.clone()
		}
		outer := c.args
		c.args = args
		frame := in.enter(false)
		f := in.statement(body, c)
		in.leave()
		f = in.merge(f, flow{frame.breaks, frame.breaks}, nil)
		for _, end := range [...]*scope{f.ok, f.failed} {
			if end != nil {
				end.args = outer
				end.restore(frame.locals)
			}
		}
		out = in.merge(out, f, body)
	}
	return out
}

// local is what a variable was before a function made it local.
type local struct {
	v   expand.Variable
	set bool
}

func (s *scope) restore(locals map[string]local) {
	for name, before := range locals {
		delete(s.vars, name)
		if before.set {
			s.put(name, before.v)
		}
	}
}

// assign follows name=value, name+=value and name=(list).
func (in *interpreter) assign(assign *syntax.Assign, s *scope) {
	name := assign.Name.Value
	old := s.Get(name)
	switch {
	case assign.Index != nil, old.Kind == expand.Associative:
		s.forget("is set element by element", name)
	case assign.Array != nil:
		in.assignList(assign, s)
	case assign.Append && old.Kind == expand.Indexed:
		s.forget("is set element by element", name)
	case assign.Append:
		s.put(name, text(old.Str+in.literal(assign.Value, s)))
	default:
		s.put(name, text(in.literal(assign.Value, s)))
	}
}

func (in *interpreter) assignList(assign *syntax.Assign, s *scope) {
	name := assign.Name.Value
	list := []string{}
	if old := s.Get(name); assign.Append && old.Set {
		list = slices.Clone(old.List)
		if old.Kind == expand.String {
			list = append(list, old.Str)
		}
	}
	for _, element := range assign.Array.Elems {
		if element.Index != nil || element.Value == nil {
			s.forget("is set element by element", name)
			return
		}
		list = append(list, in.fields([]*syntax.Word{element.Value}, s)...)
	}
	v := expand.Variable{Set: true, Kind: expand.Indexed, List: list}
	if length(v) > maxArguments {
		v = text(in.unknowns.mark("$"+name, "$"+name+" is longer than a command may be", true))
	}
	s.put(name, v)
}

// declare follows export, declare, local and readonly.
func (in *interpreter) declare(clause *syntax.DeclClause, s *scope) flow {
	variant, flags := clause.Variant.Value, ""
	for _, arg := range clause.Args {
		if arg.Name == nil {
			word := arg.Value.Lit()
			if !strings.HasPrefix(word, "-") {
				s.forgetAll("a variable may be set by " + in.source(clause))
			}
			flags += word
			continue
		}
		if variant == "local" || (variant == "declare" || variant == "typeset") && !strings.Contains(flags, "g") {
			in.makeLocal(arg.Name.Value, s)
		}
		if !arg.Naked {
			in.assign(arg, s)
		}
		if strings.ContainsAny(flags, "inlucA") || variant == "nameref" {
			s.forget("has attributes that are not worked out", arg.Name.Value)
		}
		if variant == "export" || strings.Contains(flags, "x") {
			s.export(arg.Name.Value)
		}
	}
	return flow{s, s}
}

// makeLocal remembers what to restore when the function returns.
func (in *interpreter) makeLocal(name string, s *scope) {
	for _, f := range slices.Backward(in.frames) {
		if f.loop {
			continue
		}
		if f.locals == nil {
			f.locals = map[string]local{}
		}
		if _, again := f.locals[name]; !again {
			before, set := s.vars[name]
			f.locals[name] = local{before, set}
		}
		return
	}
}
