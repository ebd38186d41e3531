package vllm

import (
	"path"
	"slices"
	"strings"
)

// The kinds of programs that a command may start.
const (
	isOther = iota
	isEngine
	isScript
)

// program is what a command starts, once the programs that only start others are taken away.
type program struct {
	kind int
	// args are the arguments of an engine.
	args []string
	// at is the index of the first of them, or of the script, in the command.
	at         int
	positional bool
	script     string
	env        *scope
}

// engineModules are the Python modules that start an engine; the second is followed by serve.
const (
	serverModule = "vllm.entrypoints.openai.api_server"
	mainModule   = "vllm.entrypoints.cli.main"
)

// wrappers are the programs that start another one which their arguments name. What else they take is skipped.
var wrappers = map[string]bool{
	"builtin": true, "catatonit": true, "chrt": true, "command": true, "conda": true, "ddtrace-run": true, "doas": true,
	"dumb-init": true, "env": true, "exec": true, "gosu": true, "ionice": true, "micromamba": true, "mpirun": true, "ncu": true,
	"nice": true, "nohup": true, "nsys": true, "numactl": true, "opentelemetry-instrument": true, "pixi": true, "poetry": true,
	"ray": true, "runuser": true, "setpriv": true, "setsid": true, "srun": true, "stdbuf": true, "strace": true,
	"su-exec": true, "sudo": true, "taskset": true, "time": true, "timeout": true, "tini": true, "unbuffer": true, "uv": true,
}

var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "ash": true, "ksh": true, "zsh": true}

// locate finds the engine or the script that a command starts: directly, or behind wrappers. An unknown first argument
// may be a wrapper too.
func locate(args []string, env *scope) program {
	p := program{env: env}
	wrapper := ""
	for i, arg := range args {
		name := path.Base(arg)
		switch {
		case wrapper != "" && strings.Contains(arg, "="):
			p.assign(arg, wrapper)
		case name == "vllm" && i+1 < len(args) && args[i+1] == "serve":
			return p.engine(args, i+2, true)
		case isPython(name):
			return p.python(args, i+1)
		case shells[name]:
			return p.shell(args, i)
		case wrappers[name] || i == 0 && hasMark(arg):
			wrapper = name
		case wrapper == "":
			return p
		case wrapper == "env":
			p.clear(args[i-1], arg)
		}
	}
	return p
}

func (p program) engine(args []string, at int, positional bool) program {
	p.kind, p.args, p.at, p.positional = isEngine, args[at:], at, positional
	return p
}

func isPython(name string) bool {
	version, found := strings.CutPrefix(name, "python")
	return found && strings.Trim(version, "0123456789.") == ""
}

// python finds a module or script of vLLM's behind the interpreter's own options.
func (p program) python(args []string, i int) program {
	for ; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-X" || arg == "-W":
			i++
		case arg == "-m":
			if i+1 == len(args) {
				return p
			}
			return p.module(args, i+1, args[i+1])
		case strings.HasPrefix(arg, "-m"):
			return p.module(args, i, arg[2:])
		case strings.HasPrefix(arg, "-"):
		case path.Base(arg) == "vllm" && i+1 < len(args) && args[i+1] == "serve":
			return p.engine(args, i+2, true)
		case strings.HasSuffix(arg, "vllm/entrypoints/openai/api_server.py"):
			return p.engine(args, i+1, false)
		default:
			return p
		}
	}
	return p
}

func (p program) module(args []string, i int, name string) program {
	switch {
	case name == serverModule:
		return p.engine(args, i+1, false)
	case name == mainModule && i+1 < len(args) && args[i+1] == "serve":
		return p.engine(args, i+2, true)
	}
	return p
}

// shell finds the script behind -c, and what the script gets as parameters.
func (p program) shell(args []string, i int) program {
	name, command := args[i], false
	for i++; i < len(args); i++ {
		arg := args[i]
		if len(arg) < 2 || arg[0] != '-' && arg[0] != '+' {
			break
		}
		if arg == "--" {
			i++
			break
		}
		switch letters := arg[1:]; {
		case arg == "--rcfile" || arg == "--init-file":
			i++
		case letters[0] == '-':
		default:
			command = command || arg[0] == '-' && strings.Contains(letters, "c")
			i += strings.Count(strings.ToLower(letters), "o")
		}
	}
	if !command || i >= len(args) {
		return p
	}
	p.kind, p.script, p.at = isScript, args[i], i
	p.env.name, p.env.args = name, nil
	if i+1 < len(args) {
		p.env.name, p.env.args = args[i+1], slices.Clone(args[i+2:])
	}
	return p
}

// assign follows an argument of a wrapper that sets or removes a variable of the program.
func (p program) assign(arg, wrapper string) {
	name, value, _ := strings.Cut(arg, "=")
	switch {
	case isName(name):
		v := text(settle(value, false))
		v.Exported = true
		_ = p.env.Set(name, v)
	case wrapper == "env" && name == "--unset":
		p.env.unset(value)
	}
}

// clear follows an argument of env that removes variables.
func (p program) clear(before, arg string) {
	switch {
	case arg == "-i" || arg == "--ignore-environment" || arg == "-":
		p.env.base, p.env.vars = &environment{unknowns: p.env.base.unknowns}, nil
	case before == "-u" || before == "--unset":
		p.env.unset(arg)
	}
}
