package rewrite

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/tetratelabs/wazero/api"

	"github.com/tiergate/tiergate/policy/internal/regotest"
)

// TestResult: eval adds nothing, one, and three results to the set 5. What opa_set_add gets it hands to the host.
func TestResult(t *testing.T) {
	var body []byte
	for _, result := range []byte{11, 12, 13} {
		body = append(body, opLocalGet, 0, opI32Eqz, opIf, blockEmpty, opReturn, opEnd, opI32Const, 5, opI32Const, result,
			opCall, firstOwn, opLocalGet, 0, opI32Const, 1, opI32Sub, opLocalSet, 0)
	}
	setAdd := []byte{opLocalGet, 0, opLocalGet, 1, opI32Const, 0, opCall, funcBuiltin, 0x1a}
	m := module{functions: append([]function{
		{name: setAddFunction, kind: typeBinary, body: setAdd},
		{name: evalFunction, kind: typeEffect, body: body},
		{name: "opa_other", kind: typeNothing, body: []byte{opI32Const, 7, opI32Const, 8, opCall, firstOwn}},
	}, runtimeStrings.functions[:2]...)}
	for n, c := range []struct {
		result uint64
		added  [][]uint64
	}{
		{0, nil},
		{11, nil},
		{11, [][]uint64{{5, 11, 0}, {5, 12, 0}}},
		{11, [][]uint64{{5, 11, 0}, {5, 12, 0}, {5, 11, 0}, {5, 13, 0}}},
	} {
		out, r := rewritten(t, m)
		assert.True(t, out.Complete)
		r.call(evalFunction, uint64(n))
		assert.Equal(t, c.result, r.ExportedGlobal(ResultExport).Get())
		assert.Equal(t, c.added, r.operands, "%d results", n)
	}
	_, r := rewritten(t, m)
	r.call("opa_other")
	assert.Equal(t, [][]uint64{{7, 8, 0}}, r.operands, "other sets are left alone")

	unnamed := m
	unnamed.unnamed = true
	out, r := rewritten(t, unnamed)
	assert.False(t, out.Complete)
	r.call(evalFunction, 1)
	assert.Equal(t, [][]uint64{{5, 11, 0}}, r.operands)
}

func TestCompleteNeedsEveryName(t *testing.T) {
	for i := range runtimeStrings.functions {
		m := module{functions: slices.Clone(runtimeStrings.functions)}
		m.functions[i].name = "other"
		out, _ := rewritten(t, m)
		assert.False(t, out.Complete)
	}
	out, err := Rewrite(regotest.Compile(t, []string{"p/q"}, "package p\nq := 1"), options())
	assert.NoError(t, err)
	assert.True(t, out.Complete)
}

// TestResultOfRealModules: the host resets the result between evaluations.
func TestResultOfRealModules(t *testing.T) {
	out, err := Rewrite(regotest.Compile(t, []string{"p/q"}, "package p\nq := input.n"), options())
	assert.NoError(t, err)
	r := start(t, out.Bytes)
	for _, want := range []string{`[{"result":1}]`, `[{"result":2}]`} {
		r.ExportedGlobal(ResultExport).(api.MutableGlobal).Set(0)
		r.sites = nil
		got, _ := r.evaluate(`{"n":` + want[11:12] + `}`)
		assert.Equal(t, want, got)
	}
}
