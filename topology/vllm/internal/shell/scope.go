package shell

import (
	"maps"
	"slices"
	"strconv"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Env is what a process starts with: the variables that are known, and those that will be set to something that
// nobody knows yet.
type Env struct {
	Known    map[string]string
	Later    []string
	Unknowns *Unknowns
}

// Lookup gives the value of a variable, as unknown text where it is set later, and false where it is not set.
func (e *Env) Lookup(name string) (string, bool) {
	if slices.Contains(e.Later, name) {
		return e.Unknowns.mark("$"+name, "$"+name+" is set only when the container starts", false), true
	}
	value, set := e.Known[name]
	return value, set
}

// maxValue bounds the value of a variable, so that a script cannot double one until memory ends. Bytes; the kernel
// itself allows no longer argument.
const maxValue = 128 << 10

// scope is the variables of a shell at one point of a script. It is the environment of the expander: nothing that it
// does can touch the process.
type scope struct {
	base *Env
	vars map[string]expand.Variable
	// args are the positional parameters, name the shell's $0.
	args []string
	name string
	// sourced is a mark once a file was sourced that may have set any variable since.
	sourced string
	// exports is true after set -a.
	exports bool
	// functions holds the bodies that a name may have. It is never changed in place, so that clones share it.
	functions map[string][]*syntax.Stmt
}

// separators is the variable at whose characters a shell splits unquoted values. The expander never sees one that a
// script sets: with it, unquoted values are unknown.
const separators = "IFS"

// clone gives a scope that a branch or subshell may change.
func (s *scope) clone() *scope {
	c := *s
	c.vars = maps.Clone(s.vars)
	return &c
}

// Get implements expand.Environ.
func (s *scope) Get(name string) expand.Variable {
	switch name {
	case "@", "*":
		return expand.Variable{Set: true, Kind: expand.Indexed, List: s.args}
	case "#":
		return text(s.count())
	case "0":
		return text(s.name)
	}
	if i, err := strconv.Atoi(name); err == nil {
		return s.parameter(i)
	}
	if name == separators {
		return expand.Variable{}
	}
	if v, changed := s.vars[name]; changed {
		return v
	}
	if s.sourced != "" {
		return expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: s.sourced}
	}
	if value, set := s.base.Lookup(name); set {
		return expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: value}
	}
	return expand.Variable{}
}

// parameter is the i-th positional parameter. Behind one that stands for any number of them, none is known.
func (s *scope) parameter(i int) expand.Variable {
	for j, arg := range s.args {
		if j == i-1 || Splits(arg) {
			return text(arg)
		}
	}
	return expand.Variable{}
}

// count is the number of positional parameters, or a mark.
func (s *scope) count() string {
	for _, arg := range s.args {
		if Splits(arg) {
			return arg
		}
	}
	return strconv.Itoa(len(s.args))
}

// Each implements expand.Environ; the expansions that would call it are never handed to the expander.
func (s *scope) Each(func(string, expand.Variable) bool) {}

// Set implements expand.WriteEnviron.
func (s *scope) Set(name string, v expand.Variable) error {
	s.put(name, v)
	return nil
}

// put sets a variable. What was exported before stays so.
func (s *scope) put(name string, v expand.Variable) {
	if len(v.Str) > maxValue {
		v.Str = s.base.Unknowns.mark("$"+name, "$"+name+" is longer than an argument may be", false)
	}
	v.Exported = v.Exported || s.exports || s.Get(name).Exported
	if s.vars == nil {
		s.vars = map[string]expand.Variable{}
	}
	s.vars[name] = v
}

// forget makes variables unknown.
func (s *scope) forget(reason string, names ...string) {
	for _, name := range names {
		s.put(name, text(s.base.Unknowns.mark("$"+name, "$"+name+" "+reason, false)))
	}
}

// forgetAll makes every variable unknown, for a file that was sourced or text that was evaluated.
func (s *scope) forgetAll(reason string) {
	s.vars = nil
	s.sourced = s.base.Unknowns.mark("a variable", reason, false)
}

// export passes a variable on to programs.
func (s *scope) export(name string) {
	if v := s.Get(name); v.Set {
		v.Exported = true
		s.put(name, v)
	}
}

// define gives a function its bodies, or takes it away.
func (s *scope) define(name string, bodies ...*syntax.Stmt) {
	functions := maps.Clone(s.functions)
	if functions == nil {
		functions = map[string][]*syntax.Stmt{}
	}
	functions[name] = bodies
	s.functions = functions
}

// unset removes a variable, also one of the container.
func (s *scope) unset(name string) {
	s.put(name, expand.Variable{})
}

// child is the scope of a program that the shell starts: only what is exported reaches it.
func (s *scope) child() *scope {
	c := s.clone()
	for name, v := range c.vars {
		if !v.Exported {
			c.vars[name] = expand.Variable{}
		}
	}
	return c
}

// lookup reads an exported variable as a program would.
func (s *scope) lookup(name string) (string, bool) {
	if v, changed := s.vars[name]; changed {
		return v.String(), v.Set && v.Exported
	}
	return s.base.Lookup(name)
}

func sameVariable(a, b expand.Variable) bool {
	return a.Set == b.Set && a.Kind == b.Kind && a.Str == b.Str && slices.Equal(a.List, b.List)
}

func text(value string) expand.Variable {
	return expand.Variable{Set: true, Kind: expand.String, Str: value}
}
