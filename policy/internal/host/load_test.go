package host

import (
	"context"
	"testing"

	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/policy/internal/regotest"
)

// newHost returns a host that lives as long as the test.
func newHost(tb testing.TB) *Host {
	tb.Helper()
	h, err := New(context.Background(), "")
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, h.Close(context.Background())) })
	return h
}

var roomy = Limits{MaxPages: 1024, RetirePages: 256, Budget: 1 << 31}

// load compiles Rego and returns an instance of it on a host of its own.
func load(tb testing.TB, data string, entrypoints []string, sources ...string) *Instance {
	tb.Helper()
	in, err := loadModule(tb, roomy, data, entrypoints, sources...).Instantiate(context.Background())
	require.NoError(tb, err)
	return in
}

func loadModule(tb testing.TB, limits Limits, data string, entrypoints []string, sources ...string) *Module {
	tb.Helper()
	m, err := newHost(tb).Load(context.Background(), regotest.Compile(tb, entrypoints, sources...), []byte(data),
		Builtins{Lookup: topdown.GetBuiltin}, limits)
	require.NoError(tb, err)
	return m
}
