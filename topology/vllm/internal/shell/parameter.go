package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// shellSet are variables that a shell sets itself, so that they are never unset and their defaults are never taken.
var shellSet = strings.Fields(`
	_ ? $ ! - BASH BASHPID BASH_VERSION EPOCHREALTIME EPOCHSECONDS EUID HOME HOSTNAME HOSTTYPE LINENO MACHTYPE OLDPWD
	OPTIND OSTYPE PATH PPID PWD RANDOM SECONDS SHELL SHLVL SRANDOM TERM UID USER`)

// param keeps a parameter expansion whose value is known and makes a mark of any other. An expansion other than a
// plain one or one with a default is not worked out: its value is as unknown as that of a command.
func (r *rewriter) param(p *syntax.ParamExp, quoted bool) syntax.WordPart {
	all, plain := subscript(p)
	if !plain || !defaults(p.Exp) {
		return r.mark(p, "is an expansion that is not worked out", !quoted || all)
	}
	name := p.Param.Value
	v := r.scope.Get(name)
	r.length += length(v)
	switch reason := r.unknowns.variableReason(v); {
	case r.length > maxValue:
		return r.mark(p, "is longer than an argument may be", !quoted || all)
	case !v.Set && slices.Contains(shellSet, name):
		return r.mark(p, "is set by the shell when the script runs", !quoted)
	case !v.Set && (p.Exp == nil || mustBeSet(p.Exp.Op)) && !positional(name):
		return r.mark(p, "is not set in the container's env", !quoted || all)
	case (!quoted || all) && r.splits && r.scope.vars[separators].Set:
		return r.mark(p, "is split at an IFS that the script sets; quote it", true)
	case reason != "" && (!quoted && r.splits || p.Exp != nil):
		return &syntax.Lit{Value: r.unknowns.mark(r.source(p), reason, (!quoted || all) && r.splits)}
	case reason == "" && !quoted && r.splits && globs(v):
		return r.mark(p, "matches file names, which are not looked up; quote it", true)
	}
	kept := *p
	if p.Exp != nil && p.Exp.Word != nil {
		kept.Exp = &syntax.Expansion{Op: p.Exp.Op, Word: &syntax.Word{Parts: r.parts(p.Exp.Word.Parts, quoted)}}
	}
	return &kept
}

// subscript tells whether an expansion is ${name} or ${name[@]} at heart, and whether it stands for all elements of a
// list.
func subscript(p *syntax.ParamExp) (all, plain bool) {
	plain = p.Param != nil && p.Param.Value != "" && p.NestedParam == nil && p.Flags == nil &&
		!p.Excl && !p.Length && !p.Width && !p.IsSet &&
		p.Split == syntax.OptUnset && p.GlobSubst == syntax.OptUnset && p.RcExpand == syntax.OptUnset &&
		len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0
	if !plain {
		return false, false
	}
	if p.Index == nil {
		return p.Param.Value == "@" || p.Param.Value == "*", true
	}
	word, ok := p.Index.(*syntax.Word)
	all = ok && (word.Lit() == "@" || word.Lit() == "*")
	return all, all && p.Exp == nil
}

// defaults tells whether an expansion has no operator, or one that asks whether the variable is set.
func defaults(exp *syntax.Expansion) bool {
	if exp == nil {
		return true
	}
	switch exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return true
	}
	return false
}

func mustBeSet(op syntax.ParExpOperator) bool {
	return op == syntax.ErrorUnset || op == syntax.ErrorUnsetOrNull
}

// positional tells the parameters of the script from variables: they are all known, so that an unset one is empty.
func positional(name string) bool { return name[0] >= '0' && name[0] <= '9' }

// variableReason is why a variable's value is unknown, or empty.
func (u *Unknowns) variableReason(v expand.Variable) string {
	if reason := u.Reason(v.Str); reason != "" {
		return reason
	}
	for _, element := range v.List {
		if reason := u.Reason(element); reason != "" {
			return reason
		}
	}
	return ""
}

func length(v expand.Variable) int {
	sum := len(v.Str)
	for _, element := range v.List {
		sum += len(element) + 1
	}
	return sum
}

func globs(v expand.Variable) bool {
	for _, element := range v.List {
		if isGlob(element) {
			return true
		}
	}
	return isGlob(v.Str)
}
