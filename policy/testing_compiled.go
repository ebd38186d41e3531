package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/tiergate/tiergate/policy/internal/host"
)

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
