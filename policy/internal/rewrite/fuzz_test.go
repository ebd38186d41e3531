package rewrite

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	"github.com/tiergate/tiergate/policy/internal/regotest"
)

// FuzzRewrite replaces some bytes of a module by others. Whatever comes of it, Rewrite must not panic, and must not
// make a module valid that was not.
func FuzzRewrite(f *testing.F) {
	real := regotest.Compile(f, []string{"p/q"}, `package p

q := {x | some x in input.xs; f(x) > 1} if not r
r if input.n with input.n as 2
f(x) := x / count(input.xs)`)
	modules := [][]byte{plain.bytes(), memoized(true).bytes(), real}
	for i, m := range modules {
		for at := 0; at < len(m); at += 1 + len(m)/40 {
			f.Add(uint8(i), uint32(at), uint8(1), []byte{0x7f})
		}
	}
	ctx := context.Background()
	engine := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	valid := func(wasm []byte) (ok bool) {
		defer func() {
			if recover() != nil { // wazero's validator runs out of the code of some malformed functions
				ok = false
			}
		}()
		compiled, err := engine.CompileModule(ctx, wasm)
		return err == nil && compiled.Close(ctx) == nil
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint32, remove uint8, insert []byte) {
		wasm := modules[int(which)%len(modules)]
		from := int(at) % len(wasm)
		to := min(from+int(remove), len(wasm))
		wasm = slices.Concat(wasm[:from], insert, wasm[to:])
		out, err := Rewrite(wasm, options("opa_arith_divide"))
		if err != nil || !valid(out.Bytes) || valid(wasm) {
			return
		}
		// The bodies of the memo's functions are replaced, so nothing is known of the old ones. Without names they stay.
		wasm = dropNames(t, wasm)
		out, err = Rewrite(wasm, options("opa_arith_divide"))
		if err == nil {
			require.False(t, valid(out.Bytes), "the module became valid")
		}
	})
}
