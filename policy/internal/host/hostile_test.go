package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostile is a policy with an entry point for every way to misbehave and one that behaves.
func hostile() (entrypoints []string, source string) {
	var b strings.Builder
	b.WriteString(`package p

good := {"sum": input.a + input.b}

endless := count([1 | some a in r; some b in r; some c in r; some d in r; a != b; b == c; c == d; d == a])
r := numbers.range(1, 1000)

hashes := count({x | some i in numbers.range(1, 5000); x := [huge, i]})
compares := count([1 | some i in numbers.range(1, 100000); huge == concat("", [half, half])])
half := concat("", [long | some _ in numbers.range(1, 10)])
huge := concat("", [half, half])

cascade := f30(1)
f0(x) := x

memory := count(numbers.range(1, 1000000000))

deep := json.unmarshal(concat("", [brackets | some _ in numbers.range(1, 1000)]))
brackets := concat("", ["[" | some _ in numbers.range(1, 1000)])

conflict := 1 if input.a
conflict := 2 if input.a

division := 1 / (input.a - input.a)

wrong := urlquery.encode(input.a) if true

swallowed := "still an answer" if not input.a / (input.a - input.a)

nested := json.unmarshal(concat("", [brackets, brackets, closing, closing]))
closing := concat("", ["]" | some _ in numbers.range(1, 1000)])

wide := [long | some _ in numbers.range(1, 1100)]
long := concat("", ["0123456789abcdef" | some _ in numbers.range(1, 4096)])
argument := object.subset({"wide": wide}, {})
patched := json.patch({}, array.concat([{"op": "add", "path": "a", "value": 1}], [x |
	some i in numbers.range(1, 40)
	x := {"op": "copy", "from": "", "path": sprintf("a%d", [i])}
]))
`)
	for i := range 30 {
		fmt.Fprintf(&b, "f%d(x) := y if {\n\tf%d(x)\n\ty := f%d(x)\n}\n", i+1, i, i)
	}
	for _, name := range strings.Fields("good endless hashes compares cascade memory deep conflict division wrong " +
		"swallowed nested wide argument patched") {
		entrypoints = append(entrypoints, "p/"+name)
	}
	return entrypoints, b.String()
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
	"deep":     {ErrStack, "evaluation nested too deeply"},
	"conflict": {ErrConflict, "m0.rego:22: evaluation gave conflicting values in data.p.conflict: " +
		"var assignment conflict"},
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
	entrypoints, source := hostile()
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
	entrypoints, source := hostile()
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
	entrypoints, source := hostile()
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

// TestCollectorIsNotHeldUp: the collector waits for every goroutine to stop, and one in WebAssembly stops only where the
// fuel is refilled.
func TestCollectorIsNotHeldUp(t *testing.T) {
	for _, name := range []string{"endless", "memory"} {
		assert.Less(t, longestCollection(t, name), 400*time.Millisecond, "of 500 ms that evaluations ran")
	}
}

// BenchmarkCollection reports how long runtime.GC took at worst while hostile evaluations ran for half a second.
func BenchmarkCollection(b *testing.B) {
	for _, name := range []string{"idle", "endless", "hashes", "compares", "memory", "deep"} {
		b.Run(name, func(b *testing.B) {
			worst := time.Duration(0)
			for b.Loop() {
				worst = max(worst, longestCollection(b, name))
			}
			b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
		})
	}
}

// longestCollection evaluates an entry point again and again for half a second; "idle" is none of them.
func longestCollection(tb testing.TB, name string) time.Duration {
	tb.Helper()
	entrypoints, source := hostile()
	p := NewPool(loadModule(tb, roomy, "{}", entrypoints, source), 1)
	defer p.Close(tb.Context()) //nolint:errcheck // frees
	ctx, cancel := context.WithTimeout(tb.Context(), 500*time.Millisecond)
	defer cancel()
	id, busy := p.module.Entrypoint("p/" + name)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil && busy {
			_, _, err := p.Eval(ctx, id, []byte(`{}`), nil)
			assert.Error(tb, err)
		}
	}()
	worst := time.Duration(0)
	for ctx.Err() == nil {
		start := time.Now()
		runtime.GC()
		worst = max(worst, time.Since(start))
	}
	<-ended
	return worst
}
