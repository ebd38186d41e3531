package host

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/policy/internal/regotest"
	"github.com/tiergate/tiergate/policy/internal/rewrite"
)

var allowed = Builtins{Lookup: topdown.GetBuiltin}

func TestLoadRefuses(t *testing.T) {
	wasm := regotest.Compile(t, []string{"p/q"}, "package p\nq := [urlquery.encode(input.a), crypto.md5(input.a)]")
	none := Builtins{Lookup: func(string) topdown.BuiltinFunc { return nil }}
	newer := bytes.Replace(wasm, []byte{0x7f, 0, 0x41, abiMinor, 0x0b}, []byte{0x7f, 0, 0x41, abiMinor + 1, 0x0b}, 1)
	small := roomy
	small.MaxPages = 1
	for _, c := range []struct {
		name     string
		wasm     []byte
		data     string
		builtins Builtins
		limits   Limits
		kind     error
		want     string
	}{
		{
			"not wasm", []byte("x"), "{}", allowed, roomy, rewrite.ErrUnsupported,
			"rewrite module: unsupported module: no WebAssembly version 1 header",
		},
		{
			"too small", wasm, "{}", allowed, small, rewrite.ErrUnsupported,
			"rewrite module: read imports: at byte 126: unsupported module: it needs 2 pages of memory, the limit is 1",
		},
		{
			"bad data", wasm, "{", allowed, roomy, ErrInput,
			"start module: store data: input is not proper JSON: byte 1 is the end, not a member's name",
		},
		{
			"no data", wasm, "", allowed, roomy, ErrInput,
			"start module: store data: input is not proper JSON: byte 0 is the end, not a value",
		},
		{
			"no builtins", wasm, "{}", none, roomy, nil,
			"start module: the host provides no builtin [crypto.md5 urlquery.encode]",
		},
		{"newer interface", newer, "{}", allowed, roomy, ErrLayout, "start module: module is not one of OPA's wasm ABI " +
			"1.3, which this program was built for: it does not declare opa_wasm_abi_minor_version as 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newHost(t).Load(t.Context(), c.wasm, []byte(c.data), c.builtins, c.limits)
			require.EqualError(t, err, c.want)
			if c.kind != nil {
				assert.ErrorIs(t, err, c.kind)
			}
		})
	}
}

// TestSelfCheck breaks what the encoder and the decoder believe, one at a time.
func TestSelfCheck(t *testing.T) {
	m := loadModule(t, roomy, "{}", []string{"p/q"}, "package p\nq := 1")
	for name, spoil := range map[string]func(in *Instance){
		"constants elsewhere": func(in *Instance) { in.enc.shared += 4 },
		"integers differ":     func(in *Instance) { in.mem.WriteByte(in.enc.shared+constantBytes+8, 1) },
		"true is false":       func(in *Instance) { in.mem.WriteByte(in.enc.shared+trueAt+1, 0) },
		"null is a set":       func(in *Instance) { in.mem.WriteByte(in.enc.shared+nullAt, tagSet) },
	} {
		t.Run(name, func(t *testing.T) {
			in, err := m.Instantiate(t.Context())
			require.NoError(t, err)
			require.NoError(t, in.selfCheck())
			spoil(in)
			in.fuelLeft.Set(fuelSlice)
			err = in.selfCheck()
			require.Error(t, err)
			t.Log(err)
		})
	}
}

// TestSelfCheckIsCheap: it is part of every load.
func TestSelfCheckIsCheap(t *testing.T) {
	in, err := loadModule(t, roomy, "{}", []string{"p/q"}, "package p\nq := 1").Instantiate(t.Context())
	require.NoError(t, err)
	best := time.Hour
	for range 20 {
		start := time.Now()
		require.NoError(t, in.selfCheck())
		best = min(best, time.Since(start))
	}
	assert.Less(t, best, 5*time.Millisecond, "it takes some hundred microseconds, several times that with -race")
}

func TestEntrypoints(t *testing.T) {
	m := loadModule(t, roomy, "{}", []string{"p/q", "p/r"}, "package p\nq := 1\nr := 2")
	q, ok := m.Entrypoint("p/q")
	assert.True(t, ok)
	r, ok := m.Entrypoint("p/r")
	assert.True(t, ok)
	assert.NotEqual(t, q, r)
	_, ok = m.Entrypoint("p/s")
	assert.False(t, ok)
}

func TestCompilationCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	wasm := regotest.Compile(t, []string{"p/q"}, "package p\nq := input.n")
	for range 2 {
		h, err := New(t.Context(), dir)
		require.NoError(t, err)
		m, err := h.Load(t.Context(), wasm, []byte("{}"), allowed, roomy)
		require.NoError(t, err)
		p := NewPool(m, 1)
		out, _, err := p.Eval(t.Context(), 0, []byte(`{"n":[1]}`), nil)
		require.NoError(t, err)
		assert.Equal(t, "[1]", string(out))
		require.NoError(t, p.Close(t.Context()))
		require.NoError(t, h.Close(t.Context()))
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.NotEmpty(t, entries)

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = New(context.Background(), file)
	assert.ErrorContains(t, err, "open compilation cache "+file)
}
