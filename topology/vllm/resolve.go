package vllm

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// Resolve gives the configuration that the engine of a launch would run with: from its command, from its fields, or from
// both. Fields fill in what the command leaves open; where both speak they must agree. Values that vLLM would refuse and
// values that nobody can know yet are in the result. Errors are *Error, with ErrNoEngine in the chain where the command
// starts no engine.
func Resolve(launch *v1.Launch) (*topology.Engine, error) {
	u := &unknowns{}
	env := &environment{known: launch.Engine.Env, unknown: launch.Engine.EnvUnknown, unknowns: u}
	if len(launch.Engine.Command) == 0 {
		return build(launch, u, env.lookup, nil)
	}
	engines, err := find(launch, env)
	if err != nil {
		return nil, err
	}
	first, err := build(launch, u, engines[0].lookup, scan(engines[0], u))
	if err != nil {
		return nil, err
	}
	for _, other := range engines[1:] {
		engine, err := build(launch, u, other.lookup, scan(other, u))
		if err != nil {
			return nil, err
		}
		if !agree(first, engine) {
			return nil, &Error{Code: CodeSeveralEngines, Pointer: other.pointer, Detail: fmt.Sprintf("the script may start %d "+
				"engines that differ, %q and %q among them; a launch is one engine: give each its own launch, or leave the one "+
				"command that runs", len(engines), u.showCommand(engines[0]), u.showCommand(other))}
		}
	}
	return first, nil
}

// agree tells whether two commands start the same engine, as its nodes do: what rightly differs between them is not
// compared.
func agree(a, b *topology.Engine) bool {
	x, y := *a, *b
	for _, e := range [...]*topology.Engine{&x, &y} {
		e.NodeRank, e.Headless, e.DataRank, e.DataStartRank = 0, false, nil, nil
		e.Unresolved = slices.Clone(e.Unresolved)
		e.Unresolved = slices.DeleteFunc(e.Unresolved, func(u topology.Unresolved) bool {
			return u.Setting == topology.SettingNodeRank || u.Setting == topology.SettingDataRank ||
				u.Setting == topology.SettingDataStartRank
		})
	}
	return reflect.DeepEqual(x, y)
}

func (u *unknowns) showCommand(inv invocation) string {
	return shorten("vllm serve " + u.reveal(strings.Join(inv.args, " ")))
}

// find gives the engines that a command may start; at least one, or an error.
func find(launch *v1.Launch, env *environment) ([]invocation, error) {
	if err := checkText(launch); err != nil {
		return nil, err
	}
	args := make([]string, len(launch.Engine.Command))
	for i, arg := range launch.Engine.Command {
		args[i] = expandKubernetes(arg, env.lookup)
	}
	p := locate(args, &scope{base: env})
	in := &interpreter{unknowns: env.unknowns, pointer: commandPointer(p.at), sources: map[syntax.Node]string{},
		functions: map[string][]*syntax.Stmt{}}
	switch p.kind {
	case isEngine:
		for i, arg := range p.args {
			p.args[i] = env.unknowns.markReferences(arg)
		}
		return []invocation{{args: p.args, positional: p.positional, lookup: p.env.lookup, pointer: "/engine/command",
			offset: p.at}}, nil
	case isScript:
		in.run(p.script, p.env)
	default:
		in.seen = []string{shorten(env.unknowns.reveal(strings.Join(args, " ")))}
	}
	switch {
	case in.err != nil:
		return nil, in.err
	case len(in.engines) == 0:
		return nil, noEngine(in.seen)
	}
	return in.engines, nil
}

// noEngine says what was looked for and what was there instead.
func noEngine(seen []string) *Error {
	const most = 4
	list := "nothing that runs"
	if len(seen) > 0 {
		list = "`" + strings.Join(seen[:min(len(seen), most)], "`, `") + "`"
	}
	if len(seen) > most {
		list += fmt.Sprintf(" and %d more", len(seen)-most)
	}
	return &Error{Code: CodeNoEngine, Pointer: "/engine/command", Detail: "no engine command: looked for `vllm serve` and " +
		"`python -m " + serverModule + "`, also behind sh -c and programs such as env or exec, and saw " + list +
		"; give the engine's own command, or its fields without a command", err: ErrNoEngine}
}

// checkText refuses the characters that no command can hold, or that stand for unknown text here.
func checkText(launch *v1.Launch) error {
	for i, arg := range launch.Engine.Command {
		if reason := textFault(arg); reason != "" {
			return &Error{Code: CodeText, Pointer: commandPointer(i), Detail: reason}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(launch.Engine.Env)) {
		if reason := textFault(launch.Engine.Env[name]); reason != "" {
			return &Error{Code: CodeText, Pointer: "/engine/env/" + name, Detail: reason}
		}
	}
	return nil
}

func textFault(text string) string {
	switch {
	case strings.IndexByte(text, 0) >= 0:
		return "the text holds a NUL character, which no command or variable can; remove it"
	case !utf8.ValidString(text):
		return "the text is not valid UTF-8; write it in UTF-8"
	case hasMark(text):
		return "the text holds a character of the private-use plane 16 (U+100000 and above), which is not read; remove it"
	}
	return ""
}
