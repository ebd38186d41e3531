package cli

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite what the tests want")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tiergate": func() {
			ctx, stop := WithSignals(context.Background(), os.Stderr)
			status := Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
			stop()
			os.Exit(status)
		},
	})
}

// TestScripts runs the command line as a user does. Beside the usual commands, scripts have
//
//	status N command...   runs a command that must end with exactly this status
//	stable FILE           writes standard output to a file, without what changes with every edit of the rules
//
// and in $SERVICE the address of a service with the shipped rules.
func TestScripts(t *testing.T) {
	launches, err := filepath.Abs("../../testdata/launches")
	require.NoError(t, err)
	cache, service := t.TempDir(), serve(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": runForStatus,
			"stable": writeStable,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("LAUNCHES", launches)
			env.Setenv("SERVICE", service)
			env.Setenv("TIERGATE_CACHE_DIR", cache)
			return nil
		},
	})
}

func runForStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("status %d, want %d", got, want)
	}
}

// changing is what differs with every edit of a rule or with every new check, and what stands in its place.
var changing = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`(revision"?:? "?)[0-9a-f]{12}`), "${1}REVISION"},
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), "sha256:DIGEST"},
	{regexp.MustCompile(`(\.rego:)\d+`), "${1}ROW"},
	{regexp.MustCompile(`\d+ checks? (pass|passes),`), "N checks pass,"},
	{regexp.MustCompile(`of \d+ checks`), "of N checks"},
	{regexp.MustCompile(`\d+ not applicable`), "N not applicable"},
}

func writeStable(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: stable FILE")
	}
	text := ts.ReadFile("stdout")
	for _, change := range changing {
		text = change.pattern.ReplaceAllString(text, change.text)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}
