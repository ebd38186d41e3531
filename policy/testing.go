package policy

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/util"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy/internal/host"
)

// TestOptions select tests and bound them.
type TestOptions struct {
	// Run selects tests by their path, e.g. node_local; nil means all.
	Run *regexp.Regexp
	// Data is a further data document, JSON or YAML.
	Data []byte
	// Timeout is how long one test may run; 0 means 5 seconds.
	Timeout time.Duration
}

// TestResult is one test_ rule.
type TestResult struct {
	// Name is the path of the rule, e.g. data.tiergate.checks.tiering.node_local_test.test_pass.
	Name string `json:"name"`
	File string `json:"file"`
	Row  int    `json:"row"`
	// Outcome is pass, fail, error or skip (a todo_test_ rule).
	Outcome string `json:"outcome"`
	// Detail says where the test failed, or how the two engines differ.
	Detail string `json:"detail,omitempty"`
	// Differs is true where WebAssembly and interpreter do not agree; the test then fails.
	Differs  bool          `json:"differs,omitempty"`
	Duration time.Duration `json:"duration_ns"`
}

// The outcomes of a test.
const (
	TestPass  = "pass"
	TestFail  = "fail"
	TestError = "error"
	TestSkip  = "skip"
)

// Test runs the test_ rules of the given sources, or of the shipped rules when there are none, in the WebAssembly that
// enforces, and beside it in OPA's interpreter. A test passes when both say so.
func Test(ctx context.Context, sources []Source, opts TestOptions) ([]TestResult, error) {
	if opts.Timeout == 0 {
		opts.Timeout = 5 * time.Second
	}
	src, err := read(sources, opts.Data)
	if err != nil {
		return nil, err
	}
	p, data, err := prepare(src)
	if err != nil {
		return nil, err
	}
	if err := addTests(p, src.tests, len(sources) > 0); err != nil {
		return nil, err
	}
	interpreted, err := interpret(ctx, p, data, opts)
	if err != nil || len(interpreted) == 0 {
		return nil, err
	}
	compiled, err := runCompiled(ctx, p, data, interpreted, opts)
	if err != nil {
		return nil, err
	}
	out := make([]TestResult, len(interpreted))
	for i, r := range interpreted {
		out[i] = judgeTest(r, compiled[i])
	}
	return out, nil
}

// addTests parses the test files; with sources of the user's own, the shipped tests are left out.
func addTests(p *parsed, tests []file, ownOnly bool) error {
	var errs Errors
	for _, f := range tests {
		if ownOnly && f.builtIn {
			continue
		}
		if _, err := parseModule(f); err != nil {
			errs = append(errs, fromOPA(err, CodeParse)...)
		}
		p.files = append(p.files, f)
	}
	if errs != nil {
		return errs
	}
	return p.typeCheck()
}

// interpret runs the tests with OPA's own runner, in the order of their files.
func interpret(ctx context.Context, p *parsed, data []byte, opts TestOptions) ([]*tester.Result, error) {
	var doc map[string]any
	if err := util.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("read data: %w", err)
	}
	store := inmem.NewFromObject(doc)
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Abort(ctx, txn)
	schemas, err := inputSchema()
	if err != nil {
		return nil, err
	}
	compiler := ast.NewCompiler().WithCapabilities(testCapabilities()).WithSchemas(schemas).WithUseTypeCheckAnnotations(true)
	modules, err := p.modules()
	if err != nil {
		return nil, err
	}
	results, err := tester.NewRunner().SetCompiler(compiler).SetStore(store).SetModules(modules).
		SetTimeout(opts.Timeout).RaiseBuiltinErrors(true).EnableTracing(true).RunTests(ctx, txn)
	if err != nil {
		return nil, fromOPA(err, CodeBadTest)
	}
	var out []*tester.Result
	for r := range results {
		if name := r.Package + "." + r.Name; opts.Run == nil || opts.Run.MatchString(name) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b *tester.Result) int {
		if a.Location.File != b.Location.File {
			return strings.Compare(a.Location.File, b.Location.File)
		}
		return a.Location.Row - b.Location.Row
	})
	return out, nil
}

// compiledResult is what WebAssembly made of a test: how many of its cases hold, or an error.
type compiledResult struct {
	holds bool
	cases int
	err   error
	took  time.Duration
}

func runCompiled(ctx context.Context, p *parsed, data []byte, tests []*tester.Result, opts TestOptions) ([]compiledResult, error) {
	entrypoints := make([]string, len(tests))
	for i, t := range tests {
		entrypoints[i] = strings.ReplaceAll(strings.TrimPrefix(t.Package, "data."), ".", "/") + "/" + t.Name
	}
	wasm, err := p.compileWasm(ctx, slices.Compact(slices.Sorted(slices.Values(entrypoints))))
	if err != nil {
		return nil, err
	}
	h, err := host.New(ctx, "")
	if err != nil {
		return nil, err
	}
	defer h.Close(ctx) //nolint:errcheck // the process ends soon, and the tests are done
	module, err := h.Load(ctx, wasm, data, builtins(), host.Limits{
		MaxPages: DefaultMaxPages, RetirePages: DefaultMaxPages, Budget: DefaultBudget,
	})
	if err != nil {
		return nil, fmt.Errorf("load tests: %w", err)
	}
	pool := host.NewPool(module, 1)
	out := make([]compiledResult, len(tests))
	for i, path := range entrypoints {
		if !tests[i].Skip {
			out[i] = runTest(ctx, pool, module, path, opts.Timeout)
		}
	}
	return out, pool.Close(ctx)
}

func runTest(ctx context.Context, pool *host.Pool, module *host.Module, path string, timeout time.Duration) (r compiledResult) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	id, known := module.Entrypoint(path)
	if !known {
		r.err = fmt.Errorf("%w: %s", ErrNoEntrypoint, path)
		return r
	}
	start := time.Now()
	text, defined, err := pool.Eval(ctx, id, nil, nil)
	r.took, r.err = time.Since(start), err
	if err == nil && defined {
		r.holds, r.cases = holds(text)
	}
	return r
}

// holds tells whether a test's value is true, or an object all of whose leaves are, and counts these.
func holds(text []byte) (bool, int) {
	var value any
	if err := util.Unmarshal(text, &value); err != nil {
		return false, 0
	}
	return allTrue(value)
}

func allTrue(value any) (bool, int) {
	object, nested := value.(map[string]any)
	if !nested {
		return value == true, 1
	}
	all, count := len(object) > 0, 0
	for _, v := range object {
		ok, n := allTrue(v)
		all, count = all && ok, count+n
	}
	return all, count
}

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
