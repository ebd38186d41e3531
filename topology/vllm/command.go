package vllm

import (
	"path"
	"strings"

	"github.com/tiergate/tiergate/topology/vllm/internal/shell"
)

// The Python modules that start an engine; the second is followed by serve.
const (
	serverModule = "vllm.entrypoints.openai.api_server"
	mainModule   = "vllm.entrypoints.cli.main"
	serverFile   = "vllm/entrypoints/openai/api_server.py"
)

// recognize tells the engine from other programs.
func recognize(args []string) shell.Answer {
	_, _, answer := engineArgs(args)
	return answer
}

// engineArgs takes the engine itself from its command line and leaves its arguments. With vllm serve, the first of
// them that is no flag is the model.
func engineArgs(args []string) (rest []string, serves bool, answer shell.Answer) {
	switch name := path.Base(args[0]); {
	case startsServe(args):
		return args[2:], true, shell.Wanted
	case isPython(name):
		return pythonArgs(args[1:])
	}
	return nil, false, shell.Nothing
}

func startsServe(args []string) bool {
	return len(args) > 1 && path.Base(args[0]) == "vllm" && args[1] == "serve"
}

func isPython(name string) bool {
	version, found := strings.CutPrefix(name, "python")
	return found && strings.Trim(version, "0123456789.") == ""
}

// pythonArgs finds a module or script of vLLM's behind the interpreter's own options.
func pythonArgs(args []string) (rest []string, serves bool, answer shell.Answer) {
	for len(args) > 0 {
		switch arg := args[0]; {
		case arg == "-X" || arg == "-W":
			args = args[1:]
		case arg == "-m" && len(args) > 1:
			return moduleArgs(args[1], args[2:])
		case strings.HasPrefix(arg, "-m") && len(arg) > 2:
			return moduleArgs(arg[2:], args[1:])
		case strings.HasPrefix(arg, "-"):
		case startsServe(args):
			return args[2:], true, shell.Wanted
		case strings.HasSuffix(arg, serverFile):
			return args[1:], false, shell.Wanted
		default:
			return nil, false, shell.Unwanted
		}
		args = args[min(1, len(args)):]
	}
	return nil, false, shell.Unwanted
}

func moduleArgs(name string, args []string) (rest []string, serves bool, answer shell.Answer) {
	switch {
	case name == serverModule:
		return args, false, shell.Wanted
	case name == mainModule && len(args) > 0 && args[0] == "serve":
		return args[1:], true, shell.Wanted
	}
	return nil, false, shell.Unwanted
}
