package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// grammar is the command line.
type grammar struct {
	Validate validateCmd `cmd:"" help:"Judge launches before anything starts."`
	Explain  explainCmd  `cmd:"" help:"Show how a launch was understood and why each check says what it says."`
	Serve    serveCmd    `cmd:"" help:"Answer launchers over HTTP."`
	Register registerCmd `cmd:"" help:"Prove that ranks share memory, and start the engine once all of it was admitted."`
	Facts    factsCmd    `cmd:"" help:"Show what this process sees of its node, /dev/shm and memory limit."`
	Gate     gateCmd     `cmd:"" hidden:"" help:"Answer one request of a parent process on standard input."`
	Policy   policyCmd   `cmd:"" help:"Work on rules."`
	Bundle   bundleCmd   `cmd:"" help:"Sign bundles of rules and verify their signatures."`
	Version  versionCmd  `cmd:"" help:"Show versions and the revision of the shipped rules."`
}

// app is what commands work with.
type app struct {
	// command is what stands behind --, nil where there is no --.
	command        []string
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
	// exec replaces the process by another program.
	exec func(path string, args, env []string) error
}

// Run runs one command and returns the exit status; it never exits, though register becomes the command that it was given. The
// environment is a list of NAME=value.
func Run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{env: env, stdin: stdin, stdout: stdout, stderr: stderr, exec: syscall.Exec}
	if at := slices.Index(args, "--"); at >= 0 {
		args, a.command = args[:at], args[at+1:]
	}
	return int(a.run(ctx, args))
}

func (a *app) run(ctx context.Context, args []string) Status {
	var g grammar
	helped := false
	parser, err := kong.New(&g,
		kong.Name("tiergate"),
		kong.Description("Decides whether an LLM inference engine may bring up its KV-cache tiers on the machines it was given."),
		kong.Writers(a.stdout, a.stderr),
		kong.Exit(func(int) { helped = true }), // kong calls this after --help and then goes on
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.DefaultEnvars("TIERGATE"),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		return a.end("tiergate", fmt.Errorf("build command line: %w", err))
	}
	parsed, err := parser.Parse(args)
	switch {
	case helped:
		return StatusAllow
	case err != nil:
		return a.end(failedCommand(err), usagef("%s", err))
	case a.command != nil && !takesCommand(parsed):
		return a.end(parsed.Selected().FullPath(), usagef("only validate, explain and register take a command behind --"))
	}
	return a.end(parsed.Selected().FullPath(), parsed.Run(a))
}

// failedCommand names the command whose arguments are wrong, as far as it was recognised.
func failedCommand(err error) string {
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context.Selected() != nil {
		return parse.Context.Selected().FullPath()
	}
	return "tiergate"
}

func takesCommand(parsed *kong.Context) bool {
	switch parsed.Selected().Target.Interface().(type) {
	case validateCmd, explainCmd, registerCmd:
		return true
	}
	return false
}

// end writes the error of a command, unless that only carries a status, and returns the status that it means.
func (a *app) end(command string, err error) Status {
	status := statusOf(err)
	var silent Status
	if err == nil || errors.As(err, &silent) {
		return status
	}
	text := " " + err.Error()
	if strings.Contains(text, "\n") { // several errors, each on a line of its own
		text = "\n  " + strings.ReplaceAll(text[1:], "\n", "\n  ")
	}
	fmt.Fprintf(a.stderr, "%s:%s\n", command, text)
	var usage *usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(a.stderr, "Run \"%s --help\" for what it takes.\n", command)
	}
	return status
}
