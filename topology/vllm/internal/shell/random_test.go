package shell

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// scripts draws scripts in which everything can be told: they assign, branch, loop and call functions on known values.
type scripts struct{ *rapid.T }

func (g scripts) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(g.T, label)
}

func (g scripts) value() string {
	return g.pick("value", "a", "b", `"x y"`, "'$A'", "$A", `"$B"`, `"${B}c"`, "${N:-d}", "${A:+e}", `"${A-f}$B"`,
		"$((I + 1))", "$((I * 2 - 1))", "${N:-$A}", `""`)
}

func (g scripts) condition() string {
	return g.pick("condition", `[ "$A" = a ]`, `[ "$A" != "$B" ]`, `[ -z "$B" ]`, `[ $I -gt 1 ]`, `[[ $A == a && -n `+
		`$B ]]`,
		"(( I > 2 ))", "true", "false", `! [ "$B" = b ]`, `[[ ! $I -eq 2 ]]`)
}

func (g scripts) statements(depth int) string {
	var out strings.Builder
	for range rapid.IntRange(1, 4).Draw(g.T, "statements") {
		out.WriteString(g.statement(depth) + "\n")
	}
	return out.String()
}

func (g scripts) statement(depth int) string {
	kinds := []string{"assign", "engine", "count", "shift", "and", "or"}
	if depth < 3 {
		kinds = append(kinds, "if", "case", "for", "call", "subshell", "block", "eval")
	}
	switch kind := g.pick("kind", kinds...); kind {
	case "assign":
		return g.pick("variable", "A", "B") + "=" + g.value()
	case "count":
		return "I=$((I + 1))"
	case "shift":
		return `set -- "$@" ` + g.value() + "; shift"
	case "and", "or":
		return g.condition() + map[string]string{"and": " && ", "or": " || "}[kind] + "A=" + g.value()
	case "if":
		return fmt.Sprintf("if %s; then\n%selse\n%sfi", g.condition(), g.statements(depth+1), g.statements(depth+1))
	case "case":
		return fmt.Sprintf("case \"$A\" in a|x*)\n%s;;\n*)\n%s;;\nesac", g.statements(depth+1), g.statements(depth+1))
	case "for":
		jump := g.pick("jump", "", g.condition()+" && break\n", g.condition()+" && continue\n")
		return fmt.Sprintf("for A in x %s; do\n%s%sdone", g.value(), jump, g.statements(depth+1))
	case "call":
		return fmt.Sprintf("f() {\nlocal B=$1\n%s%s\n}\nf %s; unset -f f", g.statements(3),
			g.pick("return", "", g.condition()+" || return"), g.value())
	case "subshell":
		return "(\n" + g.statements(depth+1) + ")"
	case "block":
		return "{\n" + g.statements(depth+1) + "}"
	case "eval":
		return "eval 'A=" + g.pick("evaluated", "z", "$B", `"$I"`) + "'"
	}
	return `engine ` + g.value() + " " + g.value() + ` "$A" "$B" "$I" "$@"`
}

// TestRandomScriptsAgree compares the engines that a random script starts with those that a real shell starts.
func TestRandomScriptsAgree(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	dir := t.TempDir()
	prelude := `engine() { { printf engine; for a; do printf '|%s' "$a"; done; echo; } ` +
		`>>` + filepath.Join(dir, "out") + "; }\n"
	rapid.Check(t, func(rt *rapid.T) {
		script := "A=a; B=b; I=1; set -- p q\n" + scripts{rt}.statements(0) + `engine end "$A" "$B" "$I" "$@"`
		require.NoError(rt, os.WriteFile(filepath.Join(dir, "out"), nil, 0o644))
		cmd := exec.Command(bash, "-c", prelude+script)
		cmd.Env = []string{"PATH=/nonexistent"}
		output, _ := cmd.CombinedOutput()
		require.Empty(rt, string(output), script)
		want, err := os.ReadFile(filepath.Join(dir, "out"))
		require.NoError(rt, err)
		got, _ := follow(t, []string{"bash", "-c", script}, nil)
		require.Equal(rt, strings.TrimSuffix(string(want), "\n"), got, script)
	})
}
