package vllm

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/vllm/internal/shell"
)

// Resolve gives the configuration that the engine of a launch would run with: from its command, from its fields, or
// from both. Fields fill in what the command leaves open; where both speak they must agree. Values that vLLM would
// refuse and values that nobody can know yet are in the result. Errors are *Error, with ErrNoEngine in the chain
// where the command starts no engine.
func Resolve(launch *v1.Launch) (*topology.Engine, error) {
	if err := checkText(&launch.Engine); err != nil {
		return nil, err
	}
	env := &shell.Env{Known: launch.Engine.Env, Later: launch.Engine.EnvUnknown, Unknowns: &shell.Unknowns{}}
	if len(launch.Engine.Command) == 0 {
		return build(launch, env.Unknowns, env.Lookup, nil)
	}
	programs, err := find(launch, env)
	if err != nil {
		return nil, err
	}
	var first *topology.Engine
	for _, p := range programs {
		if len(p.Args) > maxArguments {
			return nil, tooManyArguments(len(p.Args))
		}
		engine, err := build(launch, env.Unknowns, p.Lookup, scan(p, env.Unknowns))
		switch {
		case err != nil:
			return nil, err
		case first == nil:
			first = engine
		case !agree(first, engine):
			return nil, severalEngines(programs[0], p, env.Unknowns)
		}
	}
	return first, nil
}

// agree tells whether two commands start the same engine, as its nodes do: what rightly differs between them is not
// compared.
func agree(a, b *topology.Engine) bool {
	x, y := *a, *b
	for _, e := range [...]*topology.Engine{&x, &y} {
		e.NodeRank, e.Headless, e.DataRank, e.DataStartRank, e.Unresolved = 0, false, nil, nil, nil
	}
	return reflect.DeepEqual(x, y) && slices.Equal(settled(a), settled(b))
}

// settled lists the unresolved settings that are compared.
func settled(e *topology.Engine) []topology.Unresolved {
	return slices.DeleteFunc(slices.Clone(e.Unresolved), func(u topology.Unresolved) bool {
		return u.Setting == topology.SettingNodeRank || u.Setting == topology.SettingDataRank ||
			u.Setting == topology.SettingDataStartRank
	})
}

func severalEngines(first, other shell.Program, u *shell.Unknowns) *Error {
	show := func(p shell.Program) string { return showText(u.Reveal(strings.Join(p.Args, " "))) }
	return &Error{Code: CodeSeveralEngines, Pointer: commandPointer(other.Index), Detail: fmt.Sprintf("the script may "+
		"start engines that differ: `%s` and `%s`; a launch is one engine: give each a launch of its own, or leave "+
		"the one command that runs", show(first), show(other))}
}

// find gives the engines that a command may start; at least one, or an error.
func find(launch *v1.Launch, env *shell.Env) ([]shell.Program, error) {
	programs, others, err := shell.Follow(launch.Engine.Command, env, recognize)
	var failure *shell.Error
	switch {
	case errors.As(err, &failure):
		return nil, unreadable(failure)
	case len(programs) == 0:
		return nil, noEngine(others)
	}
	return programs, nil
}

// unreadable is the error for a script that cannot be followed.
func unreadable(failure *shell.Error) *Error {
	e := &Error{
		Code: CodeScript, Pointer: "/engine/command", Line: failure.Line, Column: failure.Column,
		Detail: failure.Detail + "; correct the script",
	}
	if failure.TooLarge {
		e.Code = CodeTooLarge
		e.Detail = failure.Detail + "; put the engine's own command into the launch"
	}
	return e
}

// searched is what an engine command looks like.
const searched = "`vllm serve` and `python -m " + serverModule + "`, also behind sh -c and programs such as env or exec"

// noEngine says what was looked for and what was there instead.
func noEngine(seen []string) *Error {
	const most = 4
	list := "nothing that runs"
	for i, command := range seen[:min(len(seen), most)] {
		if i == 0 {
			list = "`" + showText(command) + "`"
		} else {
			list += ", `" + showText(command) + "`"
		}
	}
	if len(seen) > most {
		list += fmt.Sprintf(" and %d more", len(seen)-most)
	}
	return &Error{
		Code: CodeNoEngine, Pointer: "/engine/command", err: ErrNoEngine,
		Detail: "no engine command: looked for " + searched + ", and saw " + list +
			"; give the engine's own command, or its fields without a command",
	}
}
