package host

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestCollectorIsNotHeldUp: the collector waits for every goroutine to stop, and one in WebAssembly stops only where
// the fuel is refilled.
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
	entrypoints, source := hostile(tb)
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
