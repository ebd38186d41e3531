package rewrite

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFuel: one step for every arrival at a loop header, which is once more than the body runs, and one for every
// entry to a rule or to eval.
func TestFuel(t *testing.T) {
	loop := countdown(0)
	// for a != 0 { a--; b = 3; for b != 0 { b-- } }
	nested := countdown(0, append([]byte{opI32Const, 3, 0x21, 1}, countdown(1)...)...)
	functions := []function{
		{name: "opa_loop", kind: typeEffect, body: loop},
		{name: "g0.data.p.loop", kind: typeEffect, body: loop},
		{name: "opa_nested", kind: typeEffect, locals: 1, body: nested},
		{name: "opa_straight", kind: typeEffect},
		{name: "g12.data.p.straight", kind: typeEffect},
		{name: "eval", kind: typeEffect, body: []byte{opLocalGet, 0, opCall, firstOwn + 4}},
		{name: "mg0.data.p", kind: typeEffect},
	}
	for _, c := range []struct {
		function       string
		argument       uint64
		named, unnamed int
	}{
		{"opa_loop", 0, 1, 2},
		{"opa_loop", 10, 11, 12},
		{"g0.data.p.loop", 10, 12, 12},
		{"opa_nested", 0, 1, 2},
		{"opa_nested", 5, 6 + 5*4, 7 + 5*4},
		{"opa_straight", 0, 0, 1},
		{"g12.data.p.straight", 0, 1, 1},
		{"eval", 0, 2, 2},
		{"mg0.data.p", 0, 0, 1},
	} {
		_, r := rewritten(t, module{functions: functions})
		assert.Equal(t, c.named, r.spent(c.function, c.argument), c.function)
		_, r = rewritten(t, module{functions: functions, unnamed: true})
		assert.Equal(t, c.unnamed, r.spent(c.function, c.argument), c.function+" without names")
	}
}

func TestFuelRunsOut(t *testing.T) {
	_, r := rewritten(t, module{functions: []function{{name: "opa_loop", kind: typeEffect, body: countdown(0)}}})
	r.spent("opa_loop", 999)
	assert.Empty(t, r.aborts, "a thousand steps for a thousand of fuel")
	r.spent("opa_loop", 1001)
	assert.Equal(t, []int32{Sentinel, Sentinel}, r.aborts, "then one call at every further step")
}

// TestFaults calls a builtin that returns its argument from a rule; no value is 0.
func TestFaults(t *testing.T) {
	call := func(callee byte) []byte { return []byte{opLocalGet, 0, opCall, callee} }
	m := module{functions: []function{
		{name: "opa_nullable", kind: typeUnary, body: []byte{opLocalGet, 0}},
		{name: "opa_other", kind: typeUnary, body: []byte{opLocalGet, 0}},
		{name: "g0.data.p.first", kind: typeUnary, body: call(firstOwn)},
		{name: "g0.data.p.second", kind: typeUnary, body: call(firstOwn)},
		{name: "g0.data.p.other", kind: typeUnary, body: call(firstOwn + 1)},
		{name: "opa_inner", kind: typeUnary, body: call(firstOwn)},
	}}
	out, r := rewritten(t, m, "opa_nullable")
	assert.Equal(t, []Site{
		{Rule: "g0.data.p.first", Builtin: "opa_nullable"}, {Rule: "g0.data.p.second", Builtin: "opa_nullable"},
	}, out.Sites)
	fault := func() uint64 { return r.ExportedGlobal(FaultExport).Get() }
	for _, c := range []struct {
		function string
		argument uint64
		fault    uint64
	}{
		{"g0.data.p.first", 8, 0},
		{"g0.data.p.other", 0, 0},
		{"opa_inner", 0, 0},
		{"g0.data.p.second", 0, 2},
		{"g0.data.p.first", 0, 2}, // the first one stays
	} {
		assert.Equal(t, []uint64{c.argument}, r.call(c.function, c.argument), "the result passes through")
		assert.Equal(t, c.fault, fault(), "%s(%d)", c.function, c.argument)
	}
}

func TestHostCallsTellTheirSite(t *testing.T) {
	call := []byte{opI32Const, 1, opI32Const, 0, opLocalGet, 0, opCall, funcBuiltin}
	m := module{functions: []function{
		{name: "g0.data.p.first", kind: typeUnary, body: call},
		{name: "g0.data.p.second", kind: typeUnary, body: call},
		{name: "opa_inner", kind: typeUnary, body: call},
	}}
	out, r := rewritten(t, m)
	require.Len(t, out.Sites, 2)
	assert.Equal(t, Site{Rule: "g0.data.p.second", Builtin: "opa_builtin1"}, out.Sites[1])
	r.call("g0.data.p.second", 0)
	r.call("g0.data.p.first", 0)
	assert.Equal(t, []uint64{2, 1}, r.sites)
	assert.Zero(t, r.ExportedGlobal(FaultExport).Get(), "a host builtin may rightly have no value")
}
