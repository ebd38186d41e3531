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
	Health   healthCmd   `cmd:"" help:"Ask whether a service is ready, for probes."`
	Gate     gateCmd     `cmd:"" hidden:"" help:"Answer one request of a parent process on standard input."`
	Policy   policyCmd   `cmd:"" help:"Work on rules."`
	Bundle   bundleCmd   `cmd:"" help:"Sign bundles of rules and verify their signatures."`
	Version  versionCmd  `cmd:"" help:"Show versions and the revision of the shipped rules."`
}

// command is what every leaf of the grammar is.
type command interface {
	Run(ctx context.Context, a *app) error
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
	parser, err := kong.New(&g,
		kong.Name("tiergate"),
		kong.Description("Decides whether an LLM inference engine may bring up its KV-cache tiers on the machines it was given."),
		kong.Writers(a.stdout, a.stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.DefaultEnvars("TIERGATE"),
	)
	if err != nil {
		return a.end("tiergate", fmt.Errorf("build command line: %w", err))
	}
	parsed, err := parse(parser, args)
	name := "tiergate"
	if node := parsed.Selected(); node != nil {
		name = node.FullPath()
	}
	switch {
	case errors.Is(err, errHelped):
		return StatusAllow
	case err != nil:
		return a.end(name, usagef("%s", err))
	case a.command != nil && !takesCommand(parsed):
		return a.end(name, usagef("only validate, explain and register take a command behind --"))
	}
	chosen, ok := parsed.Selected().Target.Addr().Interface().(command)
	if !ok {
		return a.end(name, fmt.Errorf("%s cannot be run", name))
	}
	return a.end(name, chosen.Run(ctx, a))
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
