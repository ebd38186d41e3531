package runtime

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// free is rank 0 of an engine that needs no gate.
func free(t *testing.T, n *network) *rank {
	t.Helper()
	m := tensorMember(0, 2)
	m.Engine.KVTransfer = nil
	return newRank(t, n, shmDir(t), m)
}

func TestNoGate(t *testing.T) {
	one := int64(1)
	for name, alter := range map[string]func(m *Membership){
		"no tiers": func(*Membership) {},
		"one worker": func(m *Membership) {
			*m = tensorMember(0, 1)
			m.Engine.Parallel = &v1.Parallel{Tensor: &one}
		},
		"a command without tiers": func(m *Membership) { m.Engine = v1.Engine{Command: []string{"vllm", "serve", "m"}} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				service := newFake(2)
				r := free(t, serve(t, service))
				alter(&r.member)
				began := time.Now()
				require.NoError(t, r.register(context.Background()))
				assert.Zero(t, time.Since(began))
				ran(t, []*rank{r}, 1)
				assert.Equal(t, []string{"PUT /v1/engines/engine-a/ranks/0"}, service.log())
				assert.Nil(t, service.reports[0].Segment)
				assert.NotEmpty(t, service.reports[0].Facts.Node)
				assert.EqualValues(t, 60000, service.reports[0].DeadlineMS)
			})
		})
	}
}

// No service, whatever it does, changes the answer or the time at which the callback runs.
func TestNoGateWithoutService(t *testing.T) {
	for name, test := range map[string]struct {
		answer  http.HandlerFunc
		longest time.Duration
	}{
		"refuses": {raw(503, "text/html", ""), 0},
		"lies":    {raw(200, "application/json", `{"admission": {"outcome": "reject"}}`), 0},
		"hangs":   {hang, courtesy},
		"drips":   {drip, courtesy},
		"is down": {nil, 0},
	} {
		for _, slow := range []time.Duration{0, courtesy / 2, time.Minute} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					n := serve(t, test.answer)
					n.down.Store(test.answer == nil)
					r := free(t, n)
					began := time.Now()
					err := r.gate.RegisterKV(context.Background(), r.member, func(context.Context) error {
						assert.Zero(t, time.Since(began), "the callback waited")
						time.Sleep(slow)
						return errBoom
					})
					assert.Equal(t, errBoom, err)
					assert.Equal(t, max(test.longest, slow), time.Since(began))
				})
			})
		}
	}
}

func TestNoGateNeedsNoName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(1)
		r := free(t, serve(t, service))
		r.gate.opts.Engine = ""
		require.NoError(t, r.register(context.Background()))
		ran(t, []*rank{r}, 1)
		assert.Empty(t, service.log())
	})
}

func TestNoGateCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := free(t, serve(t, http.HandlerFunc(hang)))
		ctx, cancel := context.WithCancel(context.Background())
		began := time.Now()
		err := r.gate.RegisterKV(ctx, r.member, func(ctx context.Context) error {
			synctest.Wait()
			cancel()
			return ctx.Err()
		})
		assert.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, time.Since(began))
	})
}

func TestNoGatePanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := free(t, serve(t, newFake(1)))
		assert.PanicsWithValue(t, "boom", func() {
			_ = r.gate.RegisterKV(context.Background(), r.member, func(context.Context) error { panic("boom") })
		})
	})
}
