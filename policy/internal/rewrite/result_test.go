package rewrite

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/tetratelabs/wazero/api"

	"github.com/tiergate/tiergate/policy/internal/regotest"
)

// results is a module whose eval(n) adds 21 to a set of its own, 9, and then n of the results 11, 12 and 13 to the set
// 5. What opa_set_add gets it hands to the host.
func results() module {
	body := []byte{opI32Const, 9, opI32Const, 21, opCall, firstOwn}
	// context.result = results, as the compiler has it, with the set in the variable 1.
	body = append(body, opI32Const, 5, opLocalSet, 1, opLocalGet, 0, opLocalGet, 1, opI32Store, 2, 8)
	for _, result := range []byte{11, 12, 13} {
		body = append(body, opLocalGet, 0, opI32Eqz, opIf, blockEmpty, opReturn, opEnd, opLocalGet, 1, opI32Const, result,
			opCall, firstOwn, opLocalGet, 0, opI32Const, 1, opI32Sub, opLocalSet, 0)
	}
	setAdd := []byte{opLocalGet, 0, opLocalGet, 1, opI32Const, 0, opCall, funcBuiltin, 0x1a}
	return module{functions: append([]function{
		{name: setAddFunction, kind: typeBinary, body: setAdd},
		{name: evalFunction, kind: typeEffect, locals: 1, body: body},
		{name: "opa_other", kind: typeNothing, body: []byte{opI32Const, 7, opI32Const, 8, opCall, firstOwn}},
	}, runtimeStrings.functions[:2]...)}
}

func TestResult(t *testing.T) {
	for n, c := range []struct {
		result uint64
		added  [][]uint64
	}{
		{0, nil},
		{11, nil},
		{11, [][]uint64{{5, 11, 0}, {5, 12, 0}}},
		{11, [][]uint64{{5, 11, 0}, {5, 12, 0}, {5, 11, 0}, {5, 13, 0}}},
	} {
		out, r := rewritten(t, results())
		assert.True(t, out.Complete)
		r.call(evalFunction, uint64(n))
		assert.Equal(t, c.result, r.ExportedGlobal(ResultExport).Get())
		assert.Equal(t, append([][]uint64{{9, 21, 0}}, c.added...), r.operands, "%d results", n)
	}
	_, r := rewritten(t, results())
	r.call("opa_other")
	assert.Equal(t, [][]uint64{{7, 8, 0}}, r.operands, "other sets are left alone")

	unnamed := results()
	unnamed.unnamed = true
	out, r := rewritten(t, unnamed)
	assert.False(t, out.Complete)
	r.call(evalFunction, 1)
	assert.Equal(t, [][]uint64{{9, 21, 0}, {5, 11, 0}}, r.operands)
}

func TestComplete(t *testing.T) {
	for i, f := range results().functions {
		m := results()
		m.functions[i].name = "other"
		out, _ := rewritten(t, m)
		assert.Equal(t, f.name == "opa_other", out.Complete, f.name)
	}
	m := results()
	m.functions[1].body = nil
	out, _ := rewritten(t, m)
	assert.False(t, out.Complete, "eval has no set of results")
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
