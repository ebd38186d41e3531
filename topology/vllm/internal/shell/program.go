package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Program is one program that a command would start.
type Program struct {
	// Args begins with the program's name.
	Args []string
	// Index is where it stands in the command: the index of its name, or that of the script which starts it.
	Index int
	// Scripted tells a program that a script starts.
	Scripted bool
	// Lookup reads the environment that the program gets.
	Lookup func(name string) (string, bool)
}

// Answer says what a caller sees in the beginning of a command line.
type Answer int

const (
	// Nothing that the caller knows: it may be an option of a wrapper.
	Nothing Answer = iota
	// Wanted is a program to be found.
	Wanted
	// Unwanted is a program that is none of those, so that its arguments are its own.
	Unwanted
)

// Match recognizes the programs that a caller wants.
type Match func(args []string) Answer

// Follow finds the programs that a command would start and that match wants. $(NAME) in it is replaced first, as
// Kubernetes does. others are the programs found instead, for messages. Errors are *Error.
func Follow(command []string, env *Env, match Match) (found []Program, others []string, err error) {
	args := make([]string, len(command))
	for i, arg := range command {
		args[i] = expandKubernetes(arg, env.Lookup)
	}
	in := &interpreter{match: match, unknowns: env.Unknowns, sources: map[syntax.Node]string{}}
	at := in.start(args, &scope{base: env})
	if in.err != nil {
		return nil, nil, in.err
	}
	for i := range in.found {
		p := &in.found[i]
		if p.Index = at; !p.Scripted {
			for j, arg := range p.Args {
				p.Args[j] = env.Unknowns.markReferences(arg)
			}
		}
	}
	return in.found, in.others, nil
}

// wrappers are the programs that start another one which their arguments name. What else they take is skipped.
var wrappers = strings.Fields(`
	builtin catatonit chrt command conda ddtrace-run doas dumb-init env exec gosu ionice micromamba mpirun ncu nice
	nohup nsys numactl opentelemetry-instrument pixi poetry ray runuser setpriv setsid srun stdbuf strace su-exec sudo
	taskset time timeout tini unbuffer uv`)

var shells = strings.Fields("sh bash dash ash ksh zsh")

// start follows a command line, which may begin with wrappers or with something unknown, and gives the index of the
// program or script in it. env becomes the program's.
func (in *interpreter) start(args []string, env *scope) int {
	wrapper := ""
	for i, arg := range args {
		if wrapper != "" && strings.Contains(arg, "=") {
			env.assignArgument(arg, wrapper)
			continue
		}
		switch in.match(args[i:]) {
		case Wanted:
			in.found = append(in.found, Program{Args: args[i:], Scripted: in.depth > 0, Lookup: env.lookup})
			return i
		case Unwanted:
			return in.other(args)
		}
		switch name := path.Base(arg); {
		case slices.Contains(shells, name):
			script := commandString(args, i, env)
			if script == 0 {
				return in.other(args)
			}
			in.subshell(env, func(c *scope) flow { return in.run(args[script], c) })
			return script
		case slices.Contains(wrappers, name) || i == 0 && IsUnknown(arg):
			wrapper = name
		case wrapper == "":
			return in.other(args)
		case wrapper == "env":
			env.clear(args[i-1], arg)
		}
	}
	return in.other(args)
}

// other records a command that starts nothing wanted.
func (in *interpreter) other(args []string) int {
	in.others = append(in.others, shorten(in.unknowns.Reveal(strings.Join(args, " "))))
	return 0
}

// commandString finds the script behind -c of a shell at args[i], and sets what the script gets as parameters. It
// gives 0 where the shell runs a file or its input.
func commandString(args []string, i int, env *scope) int {
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
		return 0
	}
	env.name, env.args = name, nil
	if i+1 < len(args) {
		env.name, env.args = args[i+1], slices.Clone(args[i+2:])
	}
	return i
}

// assignArgument follows an argument of a wrapper that sets or removes a variable of the program.
func (s *scope) assignArgument(arg, wrapper string) {
	name, value, _ := strings.Cut(arg, "=")
	switch {
	case isName(name):
		v := text(settle(value, false))
		v.Exported = true
		s.put(name, v)
	case wrapper == "env" && name == "--unset":
		s.unset(value)
	}
}

// clear follows an argument of env that removes variables.
func (s *scope) clear(before, arg string) {
	switch {
	case arg == "-i" || arg == "--ignore-environment" || arg == "-":
		s.base, s.vars = &Env{Unknowns: s.base.Unknowns}, nil
	case before == "-u" || before == "--unset":
		s.unset(arg)
	}
}
