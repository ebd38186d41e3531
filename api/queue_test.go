package api

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testQueue(places int, bytes, body int64) (*queue, *prometheus.CounterVec) {
	rejections := counter("r", "r", "reason")
	return newQueue(places, bytes, body, rejections), rejections
}

func count(t *testing.T, c prometheus.Counter) int {
	t.Helper()
	var m dto.Metric
	require.NoError(t, c.Write(&m))
	return int(m.GetCounter().GetValue())
}

func enter(t *testing.T, q *queue) *place {
	t.Helper()
	p, err := q.enter()
	require.NoError(t, err)
	return &p
}

func TestQueueRefusesAtOnceWhenFull(t *testing.T) {
	q, rejections := testQueue(2, 100, 100)
	first, second := enter(t, q), enter(t, q)
	_, err := q.enter()
	require.EqualError(t, err, "overloaded: 2 requests are in work or waiting, which is the most; try again later")

	require.NoError(t, first.reserve(60))
	require.EqualError(t, second.reserve(41),
		"overloaded: the bodies of all requests hold 60 of 100 bytes; try again later")
	require.NoError(t, second.reserve(40))
	places, bytes := q.load()
	assert.Equal(t, 2, places)
	assert.Equal(t, int64(100), bytes)

	first.leave()
	first.leave() // A second time must give nothing back.
	places, bytes = q.load()
	assert.Equal(t, 1, places)
	assert.Equal(t, int64(40), bytes)
	enter(t, q).leave()
	assert.Equal(t, 1, count(t, rejections.WithLabelValues("places")))
	assert.Equal(t, 1, count(t, rejections.WithLabelValues("bytes")))
}

// Large documents take all turns, YAML sooner, because it takes more memory.
func TestLargeDocumentsAreDecodedAlone(t *testing.T) {
	for _, test := range []struct {
		size int64
		yaml bool
	}{{1 << 18, false}, {1 << 15, true}, {1 << 20, false}, {1 << 20, true}} {
		q, rejections := testQueue(9, 9<<20, 1<<20)
		large, small := enter(t, q), enter(t, q)
		require.NoError(t, large.wait(t.Context(), test.size, test.yaml))
		late, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		require.EqualError(t, small.wait(late, 1, false),
			"overloaded: no turn came before the deadline; try again later")
		assert.Equal(t, 1, count(t, rejections.WithLabelValues("deadline")))

		gone, leave := context.WithCancel(t.Context())
		leave()
		require.ErrorIs(t, small.wait(gone, 1, false), context.Canceled, "who is gone was not refused")
		large.done()
		require.NoError(t, small.wait(t.Context(), 1, false))
		small.leave()
		large.leave()
	}
}

func TestSmallDocumentsTakeTurnsTogether(t *testing.T) {
	q, _ := testQueue(1000, 1<<20, 1<<20)
	for range turnsPerProcessor * runtime.GOMAXPROCS(0) {
		require.NoError(t, enter(t, q).wait(t.Context(), 100, false))
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	require.Error(t, enter(t, q).wait(late, 100, false))
}

func TestClosedQueueIsIdleAfterTheLastPlace(t *testing.T) {
	q, _ := testQueue(2, 100, 100)
	p := enter(t, q)
	idle := q.close()
	_, err := q.enter()
	require.ErrorIs(t, err, errShuttingDown)
	select {
	case <-idle:
		t.Fatal("idle while a place is taken")
	default:
	}
	p.leave()
	<-idle
	<-q.close()
}

// Many requests at once never hold more than the limits, and nothing once all have left.
func TestQueueHammer(t *testing.T) {
	q, _ := testQueue(8, 4096, 1024)
	var group sync.WaitGroup
	for worker := range 16 {
		group.Go(func() {
			for i := range 500 {
				p, err := q.enter()
				if err != nil {
					continue
				}
				size := int64(1 + (worker*500+i)%1024)
				if p.reserve(size) == nil && p.wait(context.Background(), size, i%7 == 0) == nil {
					places, bytes := q.load()
					assert.LessOrEqual(t, places, 8)
					assert.LessOrEqual(t, bytes, int64(4096))
				}
				p.leave()
			}
		})
	}
	group.Wait()
	<-q.close()
	places, bytes := q.load()
	assert.Zero(t, places)
	assert.Zero(t, bytes)
	assert.Zero(t, q.working.Load())
	assert.True(t, q.turns.TryAcquire(1024), "all turns came back")
}

// A body of unknown length reserves as it grows, and no more than one byte beyond the limit.
func TestReadUnknownReservesAsItGrows(t *testing.T) {
	const limit = 300_000
	for _, test := range []struct{ size, reserved int64 }{
		{0, firstBuffer}, {firstBuffer - 1, firstBuffer}, {firstBuffer, 2 * firstBuffer}, {limit, limit + 1},
	} {
		q, _ := testQueue(1, 1<<30, limit)
		p := enter(t, q)
		text := strings.Repeat("x", int(test.size))
		b := body{buffer: new([]byte)}
		require.NoError(t, b.readUnknown(strings.NewReader(text), p, limit))
		assert.Equal(t, text, string(b.data))
		assert.Equal(t, test.reserved, p.bytes)
	}
	q, _ := testQueue(1, 1<<30, limit)
	b := body{buffer: new([]byte)}
	require.EqualError(t, b.readUnknown(strings.NewReader(strings.Repeat("x", limit+1)), enter(t, q), limit),
		"the body has too many bytes, at most 300000 are read; raise max_body if launches are this large")
}
