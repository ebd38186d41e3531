package api

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/document"
	"github.com/tiergate/tiergate/topology/vllm"
)

// codesIn are the values of the constants of a package whose names begin with Code.
func codesIn(t *testing.T, dir string) (codes []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Code") && len(spec.Values) == 1 {
				if value, ok := spec.Values[0].(*ast.BasicLit); ok {
					code, err := strconv.Unquote(value.Value)
					require.NoError(t, err)
					codes = append(codes, code)
				}
			}
			return true
		})
	}
	require.NotEmpty(t, codes, dir)
	return codes
}

// A code that a package below learns must get its status here, and its line in the documentation.
func TestCatalogueHasEveryCode(t *testing.T) {
	var want []string
	for _, dir := range []string{"v1", "../topology", "../topology/document", "../topology/vllm"} {
		want = append(want, codesIn(t, dir)...)
	}
	got := slices.Collect(maps.Keys(catalogue))
	assert.ElementsMatch(t, append(want, codeClientGone), got)
	manual, err := os.ReadFile("../docs/api.md")
	require.NoError(t, err)
	for _, code := range want {
		assert.Contains(t, string(manual), fmt.Sprintf("| `%s` | %d |", code, catalogue[code].status))
	}
}

func TestProblemOf(t *testing.T) {
	wrapped := func(err error) error { return fmt.Errorf("somewhere: %w", err) }
	evaluation := func(err error) error {
		return wrapped(&policy.Error{Code: policy.CodeEvaluation, File: "rego/a.rego", Row: 3, Message: "m", Err: err})
	}
	for _, test := range []struct {
		err  error
		want v1.Problem
	}{
		{
			wrapped(&document.Error{Code: document.CodeUnknownField, Pointer: "/a", Line: 3, Detail: "d", Nearest: "b"}),
			v1.Problem{Code: "unknown_field", Status: 400, Title: "Unknown field", Detail: "d", Pointer: "/a", Line: 3, Nearest: "b"},
		},
		{
			wrapped(&topology.InputError{Code: topology.CodeUnknownNode, Pointer: "/a", Detail: "d", Nearest: "b"}),
			v1.Problem{Code: "unknown_node", Status: 422, Title: "Unknown node", Detail: "d", Pointer: "/a", Nearest: "b"},
		},
		{
			wrapped(&vllm.Error{Code: vllm.CodeScript, Pointer: "/engine/command/2", Line: 4, Column: 7, Detail: "d"}),
			v1.Problem{
				Code: "unreadable_script", Status: 422, Title: "Unreadable script", Detail: "line 4, column 7: d",
				Pointer: "/engine/command/2",
			},
		},
		{
			wrapped(&vllm.Error{Code: vllm.CodeContradiction, Pointer: "/a", Detail: "d"}),
			v1.Problem{
				Code: "contradiction", Status: 422, Title: "Command and fields contradict each other", Detail: "d",
				Pointer: "/a",
			},
		},
		{evaluation(policy.ErrBudget), v1.Problem{Code: "evaluation_budget", Status: 500, Title: "The policy took too many steps", Detail: "rego/a.rego:3: m"}},
		{evaluation(policy.ErrMemory), v1.Problem{Code: "evaluation_memory", Status: 500, Title: "The policy needed too much memory", Detail: "rego/a.rego:3: m"}},
		{evaluation(policy.ErrStack), v1.Problem{Code: "evaluation_stack", Status: 500, Title: "The policy nested too deeply", Detail: "rego/a.rego:3: m"}},
		{evaluation(policy.ErrConflict), v1.Problem{Code: "evaluation_conflict", Status: 500, Title: "The policy contradicts itself", Detail: "rego/a.rego:3: m"}},
		{evaluation(policy.ErrBuiltin), v1.Problem{Code: "evaluation_builtin", Status: 500, Title: "A function in the policy failed", Detail: "rego/a.rego:3: m"}},
		{evaluation(policy.ErrTrap), v1.Problem{Code: "evaluation_trap", Status: 500, Title: "The policy failed", Detail: "rego/a.rego:3: m"}},
		{evaluation(policy.ErrUndefined), v1.Problem{Code: "undefined", Status: 500, Title: "The policy gave no proper result", Detail: "rego/a.rego:3: m"}},
		{evaluation(errors.New("new way")), v1.Problem{Code: "internal", Status: 500, Title: "Internal error", Detail: "rego/a.rego:3: m"}},
		{wrapped(policy.ErrClosed), v1.Problem{Code: "shutting_down", Status: 503, Title: "Shutting down", Detail: errShuttingDown.detail}},
		{echo.ErrNotFound, v1.Problem{
			Code: "not_found", Status: 404, Title: "No such route",
			Detail: "no such route; GET /openapi.yaml describes those that there are",
		}},
		{errors.New("secret"), v1.Problem{
			Code: "internal", Status: 500, Title: "Internal error",
			Detail: "the service failed; its log has the reason under this request's id",
		}},
	} {
		test.want.Type = "urn:tiergate:problem:" + test.want.Code
		assert.Equal(t, &test.want, problemOf(t.Context(), test.err), test.err)
	}
}

// An evaluation that was stopped had one of three reasons, which the error itself does not tell.
func TestStoppedEvaluations(t *testing.T) {
	alive := t.Context()
	shutDown, cut := context.WithCancelCause(alive)
	cut(errShuttingDown)
	gone, leave := context.WithCancel(alive)
	leave()
	deadline := &policy.Error{Code: policy.CodeEvaluation, Message: "m", Err: policy.ErrDeadline}
	for _, err := range []error{deadline, context.DeadlineExceeded, context.Canceled} {
		assert.Equal(t, v1.CodeEvaluationDeadline, problemOf(alive, err).Code)
		assert.Equal(t, http.StatusGatewayTimeout, problemOf(alive, err).Status)
		assert.Equal(t, v1.CodeShuttingDown, problemOf(shutDown, err).Code)
		assert.Equal(t, codeClientGone, problemOf(gone, err).Code)
	}
}
