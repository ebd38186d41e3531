package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUnreadableScripts(t *testing.T) {
	for name, tt := range map[string]struct {
		script, want string
		tooLarge     bool
	}{
		"an open quote": {"A=1\nengine 'x", "line 2, column 8: the script cannot be parsed: reached EOF without " +
			"closing quote `'`", false},
		"an open bracket": {"engine $(x", "line 1, column 8: the script cannot be parsed: reached EOF without " +
			"matching `$(` with `)`", false},
		"an open if": {"if true; then engine", "line 1, column 1: the script cannot be parsed: `if` statement " +
			"must end with `fi`", false},
		"evaluated text": {"A='\"'; eval engine $A", "line 1, column 8: the script cannot be parsed: reached EOF " +
			"without closing quote `\"`", false},
		"a script too long": {strings.Repeat(" ", 40000), "the script has 40000 bytes and up to 0 nested brackets; " +
			"at most 32768 bytes and 100 brackets are read", true},
		"brackets too deep": {strings.Repeat("(", 101), "the script has 101 bytes and up to 101 nested brackets; at " +
			"most 32768 bytes and 100 brackets are read", true},
		"a loop in loops": {
			"for a in {1..60}; do for b in {1..60}; do for c in {1..60}; do :; done; done; done",
			"line 1, column 64: the script takes more than 4096 steps, or nests its commands more than 400 deep", true,
		},
		"an endless function": {"f() { f; }; f", "line 1, column 7: the script takes more than 4096 steps, or nests " +
			"its commands more than 400 deep", true},
		"ifs too deep": {
			strings.Repeat("if true; then ", 500) + ":" + strings.Repeat("; fi", 500),
			"line 1, column 5310: the script takes more than 4096 steps, or nests its commands more than 400 " +
				"deep", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Follow([]string{"bash", "-c", tt.script}, &Env{Unknowns: &Unknowns{}}, wantEngine)
			require.EqualError(t, err, tt.want)
			var failure *Error
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, tt.tooLarge, failure.TooLarge)
		})
	}
}

// TestHostileScriptsEnd holds scripts that grow with every step to a time in which an unbounded one could not end.
func TestHostileScriptsEnd(t *testing.T) {
	for name, script := range map[string]string{
		"a value that doubles": "A=xx; " + strings.Repeat("A=$A$A;", 2000) + "engine $A",
		"a list that doubles": "A=(x x); " + strings.Repeat(`A=("${A[@]}" "${A[@]}");`, 1000) + `engine "${` +
			`A[@]}"`,
		"a word that doubles":       "A=" + strings.Repeat("x", 1000) + "; engine " + strings.Repeat("$A", 10000),
		"braces in braces":          "engine " + strings.Repeat("{1..9}", 2000),
		"a sequence without end":    "engine {1..9223372036854775807}",
		"padded numbers":            "engine {" + strings.Repeat("0", 20000) + "..99999}",
		"a loop without end":        "while true; do :; done; until false; do A=x$A; done; engine $A",
		"many branches":             strings.Repeat("if ls; then A=$A; B=$B$A; fi;", 1000) + "engine $A$B",
		"a chain of conditions":     strings.Repeat("ls && ", 390) + "engine",
		"many functions of a name":  strings.Repeat("f() { f; };", 1000) + "f",
		"many unknown texts":        strings.Repeat("A=$(a$A)$A;", 2000) + "engine $A",
		"evaluation of evaluations": strings.Repeat("eval ", 2000) + "engine",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, _, _ = Follow([]string{"bash", "-c", script}, &Env{Unknowns: &Unknowns{}}, wantEngine)
			assert.Less(t, time.Since(start), 30*time.Second)
		})
	}
}

// leaves are scripts that would leave the file touched behind if any part of them were run.
var leaves = []string{
	"engine $(touch touched)", "engine `touch touched`", `engine "${A:-$(touch touched)}"`, "engine > " +
		"touched", "engine 2>>touched",
	"engine &>touched", "engine <(touch touched)", "engine >(cat > touched)", "touch touched; engine", "A=$(touch " +
		"touched) engine",
	"eval 'touch touched'; engine", "sh -c 'touch touched'", "exec touch touched", "trap 'touch touched' EXIT; engine",
	"if touch touched; then engine; fi", "while touch touched; do engine; done", "cat > touched <<EOF\nx\nEOF\nengine",
	"engine $((A[$(touch touched)] + 1))", "[[ -v A[$(touch touched)] ]] && engine", "for i in $(touch touched); do " +
		"engine; done",
	"case $(touch touched) in *) engine;; esac", "f() { touch touched; }; f; engine", "echo x | tee touched; engine",
	"printf x > touched && engine", "read A < <(touch touched); engine", ": > touched", "exec > touched; " +
		"engine", "coproc touch touched",
	"declare A=$(touch touched); engine", "A=($(touch touched)); engine", "let 'A[$(touch touched)]=1'; " +
		"engine", "touch touched & engine",
	"engine {fd}>touched", "export $(touch touched); engine", "source <(echo touch touched); engine", "engine ${ " +
		"touch touched; }",
	"engine $(<touched)", "mapfile A < <(touch touched); engine", "time touch touched; engine", "! touch touched || " +
		"engine",
}

func TestNothingIsExecuted(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, script := range leaves {
		for _, command := range [][]string{{"bash", "-c", script}, {"sh", "-c", script}, {"env", "A=$(touch " +
			"touched)", "sh", "-c", script}} {
			_, _, err := Follow(command, &Env{Known: map[string]string{"A": "$(touch " +
				"touched)"}, Unknowns: &Unknowns{}}, wantEngine)
			if err != nil {
				var failure *Error
				require.ErrorAs(t, err, &failure)
			}
			assert.NoFileExists(t, filepath.Join(dir, "touched"), script)
		}
	}
}

func TestNoFileIsLookedUp(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("found", nil, 0o644))
	require.NoError(t, os.WriteFile("vars.sh", []byte("A=sourced"), 0o644))
	for script, want := range map[string]string{
		"engine f*":                                 "engine|f*«f*»",
		"engine [f]ound":                            "engine|[f]ound«[f]ound»",
		`engine "$(<found)"`:                        "engine|<$(<found)>",
		`. ./vars.sh; engine "$A"`:                  "engine|<a variable>",
		`[ -f found ] && A=1 || A=2; engine "$A"`:   "engine|<$A>",
		`[[ -e found ]] && A=1 || A=2; engine "$A"`: "engine|<$A>",
		"engine ~root":                              "engine|<~root>",
	} {
		t.Run(script, func(t *testing.T) {
			got, _ := follow(t, []string{"bash", "-c", script}, nil)
			assert.Equal(t, want, got)
		})
	}
}

// FuzzFollow looks for scripts that crash the reader, never end, or come out with an argument that no source
// explains.
func FuzzFollow(f *testing.F) {
	for _, tt := range known {
		f.Add(tt.script)
	}
	for _, script := range leaves {
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script string) {
		for _, r := range script {
			if isMark(r) {
				t.Skip("callers refuse the characters that stand for unknown text")
			}
		}
		u := &Unknowns{}
		env := &Env{Known: environ, Later: []string{"LATER"}, Unknowns: u}
		found, _, err := Follow([]string{"bash", "-c", script}, env, wantEngine)
		if err != nil {
			var failure *Error
			require.ErrorAs(t, err, &failure)
			require.NotEmpty(t, failure.Detail)
		}
		for _, p := range found {
			require.Equal(t, Wanted, wantEngine(p.Args))
			for _, arg := range p.Args {
				require.Equal(t, IsUnknown(arg), u.Reason(arg) != "")
				require.False(t, IsUnknown(u.Reveal(arg)))
			}
		}
	})
}
