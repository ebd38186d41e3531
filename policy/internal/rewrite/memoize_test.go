package rewrite

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/policy/internal/regotest"
)

// memoized has the functions of OPA's memo table with bodies that trap, an allocator that hands out 256 bytes at a
// time filled with ones, and three rules of which the second has no memo.
func memoized(push bool) module {
	unreachable := []byte{0}
	m := module{functions: []function{
		{name: "opa_memoize_init", kind: typeNothing, body: unreachable},
		{name: "opa_memoize_insert", kind: typeBinary, body: unreachable},
		{name: "opa_memoize_get", kind: typeUnary, body: unreachable},
		{name: "opa_malloc", kind: typeUnary, body: []byte{
			opGlobalGet, 0, opI32Const, 0x80, 2, opI32Add, opGlobalSet, 0, // global += 256
			opGlobalGet, 0, opI32Const, 1, opI32Const, 0x80, 2, 0xfc, 11, 0, // fill
			opGlobalGet, 0,
		}},
		{name: "opa_memoize_pop", kind: typeNothing, body: unreachable},
		{name: "g0.data.p.a", kind: typeUnary, body: unreachable},
		{name: "g0.data.p.f", kind: typeUnary, body: unreachable},
		{name: "g1.data.p.b", kind: typeUnary, body: unreachable},
	}}
	if push {
		m.functions = append(m.functions, function{name: "opa_memoize_push", kind: typeNothing, body: unreachable})
	}
	return m
}

const firstRule, lastRule = firstOwn + 5, firstOwn + 7

func TestMemo(t *testing.T) {
	_, r := rewritten(t, memoized(true))
	r.call("opa_memoize_init")
	get := func(rule uint64) uint64 { return r.call("opa_memoize_get", rule)[0] }
	assert.Zero(t, get(firstRule), "a new frame knows nothing, whatever its memory held")
	assert.Zero(t, get(lastRule))
	r.call("opa_memoize_insert", firstRule, 11)
	r.call("opa_memoize_insert", lastRule, 13)
	assert.EqualValues(t, 11, get(firstRule))
	assert.EqualValues(t, 13, get(lastRule))
	assert.Zero(t, get(firstRule+1))

	r.call("opa_memoize_push")
	assert.Zero(t, get(firstRule), "what holds outside of with need not hold inside")
	r.call("opa_memoize_insert", firstRule, 17)
	r.call("opa_memoize_push")
	assert.Zero(t, get(firstRule))
	r.call("opa_memoize_pop")
	assert.EqualValues(t, 17, get(firstRule))
	r.call("opa_memoize_pop")
	assert.EqualValues(t, 11, get(firstRule))

	r.call("opa_memoize_init")
	assert.Zero(t, get(firstRule), "each evaluation starts anew")
}

func TestMemoStaysWhereItIsNotUnderstood(t *testing.T) {
	changes := map[string]func(*module){
		"no names":       func(m *module) { m.unnamed = true },
		"pop, not push":  func(m *module) { m.functions = memoized(false).functions },
		"no rules":       func(m *module) { m.functions = append(m.functions[:5:5], m.functions[8]) },
		"no allocator":   func(m *module) { m.functions[3].name = "malloc" },
		"no get":         func(m *module) { m.functions[2].name = "opa_memoize_look" },
		"other function": func(m *module) { m.functions[0].name = "opa_memoize_start" },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			m := memoized(true)
			change(&m)
			_, r := rewritten(t, m)
			_, err := r.ExportedFunction(m.functions[1].name).Call(t.Context(), firstRule, 1)
			require.ErrorContains(t, err, "unreachable", "the module's own insert")
		})
	}
}

// TestMemoOfRealModules compares policies with and without the replacement: the same answers, and every rule evaluated
// as often, which the calls of a host builtin tell. upper is native, so urlquery.encode is what calls out.
func TestMemoOfRealModules(t *testing.T) {
	for name, c := range map[string]struct {
		rego  string
		want  string
		calls int
	}{
		"once": {`q := [a, a, a]
a := urlquery.encode("x")`, `[{"result":["called","called","called"]}]`, 1},
		"with": {`q := [a, b, b, a]
a := [input.n, urlquery.encode("x")]
b := v if v := a with input.n as 2`, `[{"result":[[1,"called"],[2,"called"],[2,"called"],[1,"called"]]}]`, 2},
		"with in a loop": {`q := [v | some n in [1, 2, 3]; v := a with input.n as n]
a := [input.n, urlquery.encode("x")]`, `[{"result":[[1,"called"],[2,"called"],[3,"called"]]}]`, 3},
		"with that fails": {`q := [c, a, a]
a := [input.n, urlquery.encode("x")]
default c := 0
c := 1 if a[0] == 3 with input.n as 2`, `[{"result":[0,[1,"called"],[1,"called"]]}]`, 2},
		"undefined": {`q := [count(s), count(s)]
s contains 1 if u
s contains 2 if u
u if urlquery.encode("x") == "y"`, `[{"result":[0,0]}]`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			wasm := regotest.Compile(t, []string{"p/q"}, "package p\n\n"+c.rego)
			for _, names := range []bool{true, false} {
				if !names {
					wasm = dropNames(t, wasm)
				}
				out, err := Rewrite(wasm, options())
				require.NoError(t, err)
				got, calls := start(t, out.Bytes).evaluate(`{"n":1}`)
				assert.Equal(t, c.want, got)
				assert.Equal(t, c.calls, calls)
			}
		})
	}
}

// dropNames removes the name section, without which the memo cannot be replaced.
func dropNames(t testing.TB, wasm []byte) []byte {
	t.Helper()
	sections, err := split(wasm)
	require.NoError(t, err)
	out := []byte(header)
	for _, s := range sections {
		if s.id != sectionCustom {
			out = appendSection(out, s.id, s.body)
		}
	}
	return out
}
