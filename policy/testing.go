package policy

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/util"
)

// TestOptions select tests and bound them.
type TestOptions struct {
	// Run selects tests by their path, e.g. node_local; nil means all.
	Run *regexp.Regexp
	// Data is a further data document, JSON or YAML.
	Data []byte
	// DataName stands for Data in errors: its file.
	DataName string
	// Timeout is how long one test may run; 0 means 5 seconds.
	Timeout time.Duration
	// Coverage is filled in unless it is nil.
	Coverage *Coverage
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
	src, err := read(sources, opts.Data, opts.DataName)
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
	reached := cover.New()
	interpreted, err := interpret(ctx, p, data, opts, reached)
	if err != nil || len(interpreted) == 0 {
		return nil, err
	}
	if opts.Coverage != nil {
		if *opts.Coverage, err = p.coverageOf(reached, len(sources) == 0); err != nil {
			return nil, err
		}
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
	return p.typeCheck(nil)
}

// interpret runs the tests with OPA's own runner, in the order of their files.
func interpret(ctx context.Context, p *parsed, data []byte, opts TestOptions, reached *cover.Cover) ([]*tester.Result, error) {
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
	runner := tester.NewRunner().SetCompiler(compiler).SetStore(store).SetModules(modules).
		SetTimeout(opts.Timeout).RaiseBuiltinErrors(true).EnableTracing(true)
	if opts.Coverage != nil {
		runner.SetCoverageQueryTracer(reached).SetCoverageRuns(nil)
	}
	if opts.Run != nil {
		runner.Filter(opts.Run.String())
	}
	results, err := runner.RunTests(ctx, txn)
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
