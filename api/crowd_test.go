package api

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// gather lets so many enter and be ready as there may be in a crowd.
func gather(t *testing.T, q *queue) (places []*place) {
	t.Helper()
	for range q.crowd.most {
		p := enter(t, q)
		require.NoError(t, q.join(p.asked))
		p.ready = true
		places = append(places, p)
	}
	return places
}

func TestACrowdThatLastsIsTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, rejections := testQueue(1000, 1<<20, 1<<20)
		early := enter(t, q) // it reads its body while the crowd gathers
		places := gather(t, q)
		enter(t, q).leave() // a burst is no crowd yet

		time.Sleep(patience + time.Millisecond)
		_, err := q.enter()
		var own *refusal
		require.ErrorAs(t, err, &own)
		assert.Equal(t, v1.CodeOverloaded, own.code)
		assert.Regexp(t, `^requests come faster than they are decided: \d+ wait to be; try again later$`, own.detail)
		require.ErrorAs(t, early.wait(t.Context(), 1, false), &own, "whose body is complete only now")
		early.leave()
		assert.Equal(t, 2, count(t, rejections.WithLabelValues("crowd")))

		places[0].leave()
		enter(t, q).leave()
	})
}

// The ranks of an engine are let in whatever crowd there is, and so is a request now and then.
func TestSomeAreAskedIntoACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, rejections := testQueue(1000, 1<<20, 1<<20)
		gather(t, q)
		enter(t, q)
		time.Sleep(patience + time.Millisecond)

		guest := q.guest()
		require.NoError(t, q.join(guest.asked))
		let := 0
		for range 10 * anyway {
			if p, err := q.enter(); err == nil {
				require.NoError(t, q.join(p.asked), "it is not turned away later either")
				let++
			}
		}
		assert.Equal(t, 10, let)
		assert.Equal(t, 10*anyway-10, count(t, rejections.WithLabelValues("crowd")))
	})
}

// Bursts with a pause between them are none of them a crowd that lasts; a queue that is full again and again is.
func TestBurstsAreNoCrowd(t *testing.T) {
	for _, test := range []struct {
		name  string
		pause time.Duration
		turns bool
	}{{"with a pause", memory + time.Millisecond, false}, {"without", memory / 2, true}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, _ := testQueue(1000, 1<<20, 1<<20)
				turned := false
				for range 5 {
					places := gather(t, q)
					p, err := q.enter()
					turned = turned || err != nil
					p.leave()
					for _, p := range places {
						p.leave()
					}
					time.Sleep(test.pause)
				}
				assert.Equal(t, test.turns, turned)
			})
		})
	}
}

// What is ready is counted until it is decided, whatever becomes of it.
func TestEveryJoinIsTakenBack(t *testing.T) {
	q, _ := testQueue(1000, 1<<20, 1<<20)
	decided, gone := enter(t, q), enter(t, q)
	require.NoError(t, decided.wait(t.Context(), 1<<20, false))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, gone.wait(ctx, 1, false), context.Canceled)
	assert.Equal(t, 2, q.crowd.ready)
	decided.done()
	decided.done()
	gone.leave()
	assert.Zero(t, q.crowd.ready)
	decided.leave()
}

// A flood from many connections is answered at once, rightly or with "come back later", and leaves nothing behind.
func TestFlood(t *testing.T) {
	r := start(t, options(shipped(), nil))
	launch := tiered("engine-a", "gpu-a", "gpu-b")
	answers := make(chan string)
	for range 64 * runtime.GOMAXPROCS(0) {
		go func() {
			response, text := ask(t, http.MethodPost, r.url+"/v1/validate", "", launch)
			switch {
			case response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") == "1":
				answers <- v1.CodeOverloaded
			case response.StatusCode == http.StatusOK:
				answers <- verdictOf(t, text).Outcome
			default:
				answers <- text
			}
		}()
	}
	for range 64 * runtime.GOMAXPROCS(0) {
		assert.Contains(t, []string{v1.Deny, v1.CodeOverloaded}, <-answers)
	}
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	assert.Zero(t, r.queue.crowd.ready)
}
