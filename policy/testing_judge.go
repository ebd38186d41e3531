package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/topdown"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// judgeTest compares what the two engines make of a test.
func judgeTest(r *tester.Result, wasm compiledResult) TestResult {
	out := TestResult{
		Name: r.Package + "." + r.Name, File: r.Location.File, Row: r.Location.Row, Outcome: TestPass, Duration: wasm.took,
	}
	interpreterHolds := r.Error == nil && !r.Fail
	failedCases, cases := countCases(r.SubResults)
	wasmHolds := wasm.err == nil && wasm.holds && (cases == 0 || wasm.cases == cases)
	switch {
	case r.Skip:
		out.Outcome = TestSkip
		return out
	case interpreterHolds != wasmHolds:
		out.Outcome, out.Differs = TestFail, true
		out.Detail = fmt.Sprintf("the interpreter says %s, WebAssembly says %s",
			engineSays(interpreterHolds, r.Error), engineSays(wasmHolds, wasm.err))
	case r.Error != nil:
		out.Outcome, out.Detail = TestError, oneLine(r.Error)
	case r.Fail:
		out.Outcome = TestFail
		if failedCases != nil {
			out.Detail = "cases that do not hold: " + strings.Join(failedCases, ", ")
		}
		if failed := failedAt(r.Trace, out.File); failed != nil && failedCases == nil {
			out.Detail = fmt.Sprintf("line %d does not hold: %s", failed.Location.Row, failed.Location.Text)
		}
	}
	return out
}

// failedAt is the expression of a test file that failed last.
func failedAt(trace []*topdown.Event, file string) *ast.Expr {
	for _, event := range slices.Backward(trace) {
		expr, ok := event.Node.(*ast.Expr)
		if ok && event.Op == topdown.FailOp && expr.Location != nil && expr.Location.File == file {
			return expr
		}
	}
	return nil
}

func countCases(subs tester.SubResultMap) (failed []string, n int) {
	for name, sub := range subs {
		inner, m := countCases(sub.SubResults)
		if m == 0 {
			m = 1
			if sub.Fail {
				inner = []string{name}
			}
		}
		failed, n = append(failed, inner...), n+m
	}
	slices.Sort(failed)
	return failed, n
}

func engineSays(holds bool, err error) string {
	switch {
	case err != nil:
		return "error: " + oneLine(err)
	case holds:
		return v1.Pass
	default:
		return v1.Fail
	}
}

func oneLine(err error) string {
	var list ast.Errors
	var topdownErr *topdown.Error
	switch {
	case errors.As(err, &topdownErr):
		return topdownErr.Error()
	case errors.As(err, &list) && len(list) > 0:
		return list[0].Error()
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
