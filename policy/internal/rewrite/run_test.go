package rewrite

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// running is an instance of a rewritten module on an engine that records what it calls.
type running struct {
	api.Module
	t *testing.T
	// aborts are the arguments of opa_abort; operands are those of each call of a host builtin, and sites the site global
	// meanwhile.
	aborts   []int32
	operands [][]uint64
	sites    []uint64
	// answer is what host builtins return.
	answer uint64
}

func start(t *testing.T, wasm []byte) *running {
	t.Helper()
	ctx := context.Background()
	engine := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { require.NoError(t, engine.Close(ctx)) })
	r := &running{t: t}
	b := engine.NewHostModuleBuilder("env")
	provide := func(name string, params int, results []api.ValueType, fn func(m api.Module, stack []uint64)) {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, stack []uint64) {
			fn(m, stack)
		}), slices.Repeat([]api.ValueType{api.ValueTypeI32}, params), results).Export(name)
	}
	provide("opa_abort", 1, nil, func(_ api.Module, stack []uint64) {
		r.aborts = append(r.aborts, int32(stack[0]))
	})
	provide("opa_println", 1, nil, func(api.Module, []uint64) {})
	i32 := []api.ValueType{api.ValueTypeI32}
	for arity := range 5 {
		provide(fmt.Sprintf("opa_builtin%d", arity), arity+2, i32, func(m api.Module, s []uint64) {
			r.sites = append(r.sites, m.ExportedGlobal(SiteExport).Get())
			r.operands = append(r.operands, slices.Clone(s))
			s[0] = r.answer
		})
	}
	_, err := b.Instantiate(ctx)
	require.NoError(t, err)
	r.Module, err = engine.Instantiate(ctx, wasm)
	require.NoError(t, err)
	return r
}

// text reads the zero-terminated text at addr.
func (r *running) text(addr uint64) string {
	text, ok := r.Memory().Read(uint32(addr), r.Memory().Size()-uint32(addr))
	require.True(r.t, ok)
	require.Empty(r.t, r.aborts)
	return string(text[:bytes.IndexByte(text, 0)])
}

// evaluate runs the only entry point of a module of OPA's over a JSON input. Host builtins answer "called"; calls is
// how often they were called.
func (r *running) evaluate(input string) (result string, calls int) {
	r.t.Helper()
	parse := func(text string) uint64 {
		addr := r.call("opa_malloc", uint64(len(text)))[0]
		require.True(r.t, r.Memory().WriteString(uint32(addr), text))
		return r.call("opa_value_parse", addr, uint64(len(text)))[0]
	}
	const plenty = math.MaxInt32
	r.ExportedGlobal(FuelExport).(api.MutableGlobal).Set(plenty)
	data := parse("{}")
	r.answer = parse(`"called"`)
	heap := r.call("opa_heap_ptr_get")[0]
	require.True(r.t, r.Memory().WriteString(uint32(heap), input))
	addr := r.call("opa_eval", 0, 0, data, heap, uint64(len(input)), (heap+uint64(len(input))+7)&^7, 0)[0]
	calls = len(r.sites)
	if first := r.ExportedGlobal(ResultExport).Get(); first != 0 {
		return "[" + r.text(r.call("opa_json_dump", first)[0]) + "]", calls
	}
	return r.text(addr), calls
}

func (r *running) call(function string, args ...uint64) []uint64 {
	r.t.Helper()
	out, err := r.ExportedFunction(function).Call(context.Background(), args...)
	require.NoError(r.t, err)
	return out
}

// spent calls a function and returns how much fuel it took.
func (r *running) spent(function string, args ...uint64) int {
	r.t.Helper()
	const full = 1000
	r.ExportedGlobal(FuelExport).(api.MutableGlobal).Set(full)
	r.call(function, args...)
	return full - int(int32(r.ExportedGlobal(FuelExport).Get()))
}

func rewritten(t *testing.T, m module, nullable ...string) (*Module, *running) {
	t.Helper()
	out, err := Rewrite(m.bytes(), options(nullable...))
	require.NoError(t, err)
	return out, start(t, out.Bytes)
}

func options(nullable ...string) Options {
	return Options{MaxPages: 16, MaxDepth: 5, Nullable: func(name string) bool { return slices.Contains(nullable, name) }}
}
