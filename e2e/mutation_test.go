package e2e

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/hosttest"
)

// mutant replaces the body of one function of the sources.
type mutant struct{ file, function, body string }

// overlay writes what `go build -overlay` takes to build the mutant, and returns the file's name.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", m.file))
	require.NoError(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	positions := token.NewFileSet()
	tree, err := parser.ParseFile(positions, file, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	var body *ast.BlockStmt
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == m.function {
			body = f.Body
		}
	}
	require.NotNil(t, body, "%s has no function %s any more: name the one that does its work", m.file, m.function)
	from, to := positions.Position(body.Lbrace).Offset, positions.Position(body.Rbrace).Offset
	// What the old body used stays in use, so that the mutant compiles: a body that returns does not reach it.
	mutated := fmt.Sprintf("%s{\n%s\n%s", text[:from], m.body, text[from+1:to]) + string(text[to:])
	dir := t.TempDir()
	replacement := filepath.Join(dir, filepath.Base(file))
	require.NoError(t, os.WriteFile(replacement, []byte(mutated), 0o600))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: replacement}})
	require.NoError(t, err)
	name := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(name, list, 0o600))
	return name
}

// findings counts what a verification finds.
type findings struct{ list []string }

func (f *findings) Errorf(format string, args ...any) {
	f.list = append(f.list, fmt.Sprintf(format, args...))
}

// TestMutatedProbe breaks what the whole check stands on, and wants the tests above to notice.
func TestMutatedProbe(t *testing.T) {
	s := newSite(t)
	e := engine{grid: grid{2, 1, 1}, placement: "AB"}
	want := rejection{code: "probe", facts: always(v1.Unknown)}

	t.Run("the service takes every answer for shared", func(t *testing.T) {
		m := mutant{"internal/rendezvous/admission/segments.go", "judge", `if true { return v1.Shared, "" }`}
		binary, err := build("build", "mutant-service", "../cmd/tiergate", "-overlay", m.overlay(t))
		require.NoError(t, err)
		svc := s.serve(t, binary, 8643)
		e := e.named("mutant-service")
		svc.tap.Forge(e.name, hosttest.Withhold)
		run, ctx := s.begin(t, svc.tap.URL, e)
		results := run.results(ctx, t)
		// Rank 1 knows better than such a service, but rank 0 found its own segment and nothing else.
		assert.Equal(t, []int{0}, run.allocated(), "the mutant is one that matters")
		found := new(findings)
		s.verifyRejected(found, t, svc.tap, run, results, want)
		assert.NotEmpty(t, found.list, "a service that admits what it must reject passes for a sound one")
	})

	t.Run("a rank takes every segment for shared", func(t *testing.T) {
		m := mutant{
			"runtime/internal/probe/read_linux.go", "Read",
			`if true { return v1.ProbeAnswer{Outcome: v1.Shared, Nonce: "` + strings.Repeat("ab", 32) + `"} }`,
		}
		binary, err := build("test", "mutant-worker", ".", "-c", "-overlay", m.overlay(t))
		require.NoError(t, err)
		svc := s.serve(t, tiergate(t), 8644)
		liars := *s
		liars.worker = binary
		e := e.named("mutant-worker")
		svc.tap.Forge(e.name, hosttest.Withhold)
		run, ctx := liars.begin(t, svc.tap.URL, e)
		for _, r := range run.results(ctx, t) {
			assert.Equal(t, "rejected", r.Kind, "a claim without the nonce is none")
		}
		assert.Empty(t, run.allocated())
		liars.verifyNothingLeft(t, t, svc.tap, run)
	})
}
