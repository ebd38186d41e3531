package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostile is testdata/hostile.rego with the cascade's functions, and its entry points.
func hostile(tb testing.TB) (entrypoints []string, source string) {
	tb.Helper()
	text, err := os.ReadFile("testdata/hostile.rego")
	require.NoError(tb, err)
	source = string(text) + "\nf0(x) := x\n"
	for i := range 30 {
		source += fmt.Sprintf("\nf%d(x) := y if {\n\tf%d(x)\n\ty := f%d(x)\n}\n", i+1, i, i)
	}
	for _, name := range slices.Sorted(maps.Keys(hostileWays)) {
		entrypoints = append(entrypoints, "p/"+name)
	}
	return append(entrypoints, "p/good"), source
}

var hostileWays = map[string]struct {
	kind error
	want string
}{
	"endless":  {ErrDeadline, "evaluation stopped at its deadline in data.p.endless"},
	"hashes":   {ErrDeadline, "evaluation stopped at its deadline in data.p."},
	"compares": {ErrDeadline, "evaluation stopped at its deadline in data.p."},
	"cascade":  {ErrDeadline, "evaluation stopped at its deadline in data.p.f"},
	"memory":   {ErrMemory, "evaluation needs more memory than its maximum in data.p.memory: opa_malloc: failed"},
	"deep":     {ErrStack, "evaluation nested too deeply in data.p.deep: a text to parse is nested deeper than 1000"},
	"conflict": {ErrConflict, "m0.rego:61: evaluation gave conflicting values in data.p.conflict: " +
		"var assignment conflict"},
	"calls": {ErrDeadline, "evaluation stopped at its deadline in data.p.calls"},
	"formatted": {ErrBuiltin, "builtin function failed in data.p.formatted: sprintf: " +
		"the format has a width or precision of more than three digits"},
	"indexed": {ErrBuiltin, "builtin function failed in data.p.indexed: sprintf: the format has a width"},
	"verbs":   {ErrBuiltin, "builtin function failed in data.p.verbs: sprintf: the format has more than 1000 verbs"},
	"digits": {ErrMemory, "evaluation needs more memory than its maximum in data.p.digits: sprintf: " +
		"a number has more than 1000 digits"},
	"division": {ErrBuiltin, "builtin function failed in data.p.division: arith_divide refused its arguments"},
	"wrong": {ErrBuiltin, "builtin function failed in data.p.wrong: urlquery.encode: eval_type_error: " +
		"urlquery.encode: operand 1 must be string but got number"},
	"swallowed": {ErrBuiltin, "builtin function failed in data.p.swallowed: arith_divide refused its arguments"},
	"nested":    {ErrStack, "evaluation nested too deeply: the result is nested deeper than 1000"},
	"wide":      {ErrMemory, "evaluation needs more memory than its maximum: the result has more than 67108864 bytes"},
	"argument": {ErrMemory, "evaluation needs more memory than its maximum in data.p.argument: object.subset: " +
		"the arguments of a host function exceed 16777216 bytes"},
	"patched": {ErrMemory, "evaluation needs more memory than its maximum in data.p.patched: json.patch: " +
		"the result exceeds 16777216 bytes"},
}

// good asks for what behaves and expects the right answer.
func good(t *testing.T, p *Pool) {
	t.Helper()
	id, _ := p.module.Entrypoint("p/good")
	out, defined, err := p.Eval(t.Context(), id, []byte(`{"a":1,"b":2}`), nil)
	require.NoError(t, err)
	assert.True(t, defined)
	assert.Equal(t, `{"sum":3}`, string(out))
}

func TestHostilePolicies(t *testing.T) {
	entrypoints, source := hostile(t)
	m := loadModule(t, roomy, "{}", entrypoints, source)
	p := NewPool(m, 1)
	defer p.Close(t.Context()) //nolint:errcheck // frees
	for name, c := range hostileWays {
		t.Run(name, func(t *testing.T) {
			id, ok := m.Entrypoint("p/" + name)
			require.True(t, ok)
			ctx, cancel := context.WithCancel(t.Context())
			if c.kind == ErrDeadline {
				ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
			}
			defer cancel()
			start := time.Now()
			out, defined, err := p.Eval(ctx, id, []byte(`{"a":1,"b":2}`), []byte("kept"))
			took := time.Since(start)
			require.ErrorIs(t, err, c.kind)
			assert.Contains(t, err.Error(), c.want)
			assert.False(t, defined)
			assert.Equal(t, "kept", string(out))
			if c.kind == ErrDeadline {
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Less(t, took, 2*time.Second)
			}
			good(t, p)
		})
	}
}

// TestBudget: a budget bounds evaluations, and neither the loading of a module nor what fits into one slice of fuel.
func TestBudget(t *testing.T) {
	entrypoints, source := hostile(t)
	limits := roomy
	limits.Budget = 100
	m := loadModule(t, limits, "{}", entrypoints, source)
	p := NewPool(m, 1)
	defer p.Close(t.Context()) //nolint:errcheck // frees
	for _, name := range []string{"endless", "cascade"} {
		id, _ := m.Entrypoint("p/" + name)
		_, _, err := p.Eval(t.Context(), id, []byte(`{}`), nil)
		require.ErrorIs(t, err, ErrBudget)
		assert.Contains(t, err.Error(), "evaluation used up its budget of steps in data.p.")
		assert.Contains(t, err.Error(), ": more than 100 steps")
		good(t, p)
	}
}

// TestThousandHostile: after a thousand evaluations that failed in every way the pool answers and holds no more than
// before.
func TestThousandHostile(t *testing.T) {
	entrypoints, source := hostile(t)
	limits := roomy
	limits.MaxPages, limits.RetirePages, limits.Budget = 32, 16, 50_000
	m := loadModule(t, limits, "{}", entrypoints, source)
	p := NewPool(m, 1)
	defer p.Close(t.Context()) //nolint:errcheck // frees
	ids := make([]int32, 0, len(entrypoints))
	for _, name := range entrypoints {
		// Those two are slow, each for a while in Go.
		if id, _ := m.Entrypoint(name); name != "p/good" && name != "p/patched" && name != "p/deep" {
			ids = append(ids, id)
		}
	}
	good(t, p)
	before, goroutines := heapInUse(), runtime.NumGoroutine()
	for i := range 1000 {
		_, _, err := p.Eval(t.Context(), ids[i%len(ids)], []byte(`{"a":1,"b":2}`), nil)
		var e *Error
		require.True(t, errors.As(err, &e), "%v", err)
	}
	good(t, p)
	assert.Less(t, heapInUse(), before+8<<20)
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers freed
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapInuse
}
