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
	"github.com/tiergate/tiergate/internal/rendezvous"
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
			spec, ok := node.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") || len(spec.Values) != 1 {
				return true
			}
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				code, err := strconv.Unquote(value.Value)
				require.NoError(t, err)
				codes = append(codes, code)
			}
			return false
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
	want = append(want, v1.EndAdmission, v1.EndRevoked, v1.EndSuperseded, v1.EndDuplicate, v1.EndTimedOut)
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
	failed := func(code, title string) v1.Problem {
		return v1.Problem{Code: code, Status: 500, Title: title, Detail: "rego/a.rego:3: m"}
	}
	for _, test := range []struct {
		err  error
		want v1.Problem
	}{
		{
			wrapped(&document.Error{Code: "unknown_field", Pointer: "/a", Line: 3, Detail: "d", Nearest: "b"}),
			v1.Problem{
				Code: "unknown_field", Status: 400, Title: "Unknown field", Detail: "d",
				Pointer: "/a", Line: 3, Nearest: "b",
			},
		},
		{
			wrapped(&topology.InputError{Code: topology.CodeUnknownNode, Pointer: "/a", Detail: "d", Nearest: "b"}),
			v1.Problem{
				Code: "unknown_node", Status: 422, Title: "Unknown node", Detail: "d", Pointer: "/a", Nearest: "b",
			},
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
		{
			wrapped(&rendezvous.Error{Code: v1.CodeInvalidReport, Pointer: "/a", Detail: "d"}),
			v1.Problem{
				Code: "invalid_report", Status: 400, Title: "The report contradicts itself", Detail: "d", Pointer: "/a",
			},
		},
		{
			wrapped(&rendezvous.EndedError{End: v1.AttemptEnd{Kind: v1.EndTimedOut, Message: "m"}}),
			v1.Problem{
				Code: "timed_out", Status: 409, Title: "The attempt timed out", Detail: "m",
				End: &v1.AttemptEnd{Kind: v1.EndTimedOut, Message: "m"},
			},
		},
		{evaluation(policy.ErrBudget), failed("evaluation_budget", "The policy took too many steps")},
		{evaluation(policy.ErrMemory), failed("evaluation_memory", "The policy needed too much memory")},
		{evaluation(policy.ErrStack), failed("evaluation_stack", "The policy nested too deeply")},
		{evaluation(policy.ErrConflict), failed("evaluation_conflict", "The policy contradicts itself")},
		{evaluation(policy.ErrBuiltin), failed("evaluation_builtin", "A function in the policy failed")},
		{evaluation(policy.ErrTrap), failed("evaluation_trap", "The policy failed")},
		{evaluation(policy.ErrUndefined), failed("undefined", "The policy gave no proper result")},
		{evaluation(errors.New("new way")), failed("internal", "Internal error")},
		{wrapped(policy.ErrClosed), v1.Problem{
			Code: "shutting_down", Status: 503, Title: "Shutting down", Detail: errShuttingDown.detail,
		}},
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
