package shell

import (
	"path"
	"strconv"
	"strings"
)

// builtins are the commands that act on the shell itself. All others have no effect that a later command line shows.
var builtins map[string]func(in *interpreter, args []string, s *scope) flow

// namingBuiltins set the variables that their arguments name.
var namingBuiltins = map[string]bool{
	"read": true, "mapfile": true, "readarray": true, "getopts": true, "printf": true, "unset": true,
}

func init() {
	builtins = map[string]func(in *interpreter, args []string, s *scope) flow{
		":": succeed, "true": succeed, "false": fail,
		"exit": stop, "return": jump, "break": jump, "continue": jump,
		"test": (*interpreter).test, "[": (*interpreter).test,
		"eval": (*interpreter).eval, "source": (*interpreter).sourceFile, ".": (*interpreter).sourceFile,
		"set": (*interpreter).set, "shift": (*interpreter).shift,
		"read": (*interpreter).name, "mapfile": (*interpreter).name, "readarray": (*interpreter).name,
		"getopts": (*interpreter).name, "printf": (*interpreter).name, "unset": (*interpreter).name,
	}
}

func succeed(_ *interpreter, _ []string, s *scope) flow { return flow{ok: s} }

func fail(_ *interpreter, _ []string, s *scope) flow { return flow{failed: s} }

func stop(*interpreter, []string, *scope) flow { return flow{} }

// jump follows break, continue and return to the frame that they leave.
func jump(in *interpreter, args []string, s *scope) flow {
	for i := len(in.frames) - 1; i >= 0; i-- {
		switch f := in.frames[i]; {
		case f.loop != (args[0] != "return"):
		case args[0] == "continue":
			f.repeat = in.join(f.repeat, s.clone(), nil)
			return flow{}
		default:
			f.breaks = in.join(f.breaks, s.clone(), nil)
			return flow{}
		}
	}
	return flow{}
}

func (in *interpreter) test(args []string, s *scope) flow {
	if args[0] == "[" {
		if len(args) < 2 || args[len(args)-1] != "]" {
			return flow{s, s}
		}
		args = args[:len(args)-1]
	}
	return decide(test(args[1:]), s)
}

// eval follows its arguments as script. Unknown text in them is unquoted there, so that it may be anything.
func (in *interpreter) eval(args []string, s *scope) flow {
	source := strings.Join(args[1:], " ")
	f := in.run(source, s)
	if IsUnknown(source) {
		f = f.split()
		for _, end := range [...]*scope{f.ok, f.failed} {
			if end != nil {
				end.forgetAll("a variable may be set by eval of " + shorten(in.unknowns.Reveal(source)))
			}
		}
	}
	return f
}

// sourceFile follows a file that is not read: it may set any variable. Activating a Python environment does not.
func (in *interpreter) sourceFile(args []string, s *scope) flow {
	if len(args) > 1 && path.Base(args[1]) != "activate" {
		file := shorten(in.unknowns.Reveal(args[1]))
		s.forgetAll("a variable may be set by " + file + ", which is sourced but not read")
	}
	return flow{s, s}
}

// set follows what changes the positional parameters or exports every variable.
func (in *interpreter) set(args []string, s *scope) flow {
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			s.args = args[i+1:]
			return flow{ok: s}
		case arg == "-o" || arg == "+o":
			i++
			s.exports = s.exports || arg == "-o" && i < len(args) && args[i] == "allexport"
		case strings.HasPrefix(arg, "-"):
			s.exports = s.exports || strings.Contains(arg, "a")
		case strings.HasPrefix(arg, "+"):
			s.exports = s.exports && !strings.Contains(arg, "a")
		default:
			s.args = args[i:]
			return flow{ok: s}
		}
	}
	return flow{ok: s}
}

func (in *interpreter) shift(args []string, s *scope) flow {
	n := 1
	if len(args) > 1 {
		n, _ = strconv.Atoi(args[1])
	}
	switch {
	case n < 0 || n > len(s.args):
		return flow{failed: s}
	default:
		for _, arg := range s.args[:n] {
			if Splits(arg) {
				s.args = []string{in.unknowns.mark("$@", "$@ "+in.unknowns.Reason(arg), true)}
				return flow{s, s}
			}
		}
		s.args = s.args[n:]
	}
	return flow{ok: s}
}

// name follows builtins that set or unset the variables that they name; printf only with -v.
func (in *interpreter) name(args []string, s *scope) flow {
	if args[0] == "printf" && (len(args) < 2 || args[1] != "-v") {
		return flow{s, s}
	}
	for _, arg := range args[1:] {
		switch {
		case args[0] == "unset" && len(args) > 1 && args[1] == "-f":
			s.define(arg)
		case !isName(arg):
		case args[0] == "unset":
			s.unset(arg)
		default:
			s.forget("is set by "+args[0], arg)
		}
	}
	return flow{s, s}
}
