package api

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// queue bounds what all requests together may hold. A request has a place from before its body is read until its answer
// is written, and a turn while it is decoded and decided; slow clients thus keep places, never turns. It is refused at
// once where there is no place or no room for its body, so that memory does not grow with load.
type queue struct {
	maxPlaces int
	maxBytes  int64

	mu     sync.Mutex
	places int
	bytes  int64
	closed bool
	crowd  crowd
	idle   chan struct{} // closed when the last place is given back after close

	// turns are weighed by the size of the document, because so is what decoding takes: a large document takes the turns of
	// many small ones, or all.
	turns     *semaphore.Weighted
	capacity  int64
	leastTurn int64
	working   atomic.Int64

	rejections *prometheus.CounterVec
}

// The reasons of a rejection.
const (
	reasonPlaces   = "places"
	reasonBytes    = "bytes"
	reasonDeadline = "deadline"
	reasonCrowd    = "crowd"
	reasonWaiting  = "waiting"
	reasonWatching = "watching"
)

// turnsPerProcessor lets some requests be decoded or written while others are evaluated.
const turnsPerProcessor = 4

// The weight of a byte of document, of which max_body is the most at once: a byte of JSON may become a hundred bytes of
// launch, and one of YAML several times more.
const (
	jsonWeight = 4
	yamlWeight = 32
)

func newQueue(maxPlaces int, maxBytes, maxBody int64, rejections *prometheus.CounterVec) *queue {
	return &queue{
		maxPlaces: maxPlaces, maxBytes: maxBytes, idle: make(chan struct{}), rejections: rejections, crowd: newCrowd(),
		turns: semaphore.NewWeighted(maxBody), capacity: maxBody,
		leastTurn: max(1, maxBody/int64(turnsPerProcessor*runtime.GOMAXPROCS(0))),
	}
}

// enter takes a place. The place must be left, also after a refusal further on.
func (q *queue) enter() (place, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return place{}, errShuttingDown
	case q.places >= q.maxPlaces:
		return place{}, q.reject(reasonPlaces,
			"%d requests are in work or waiting, which is the most; try again later", q.places)
	}
	p := place{queue: q}
	if q.crowd.lasts() {
		if p.asked = q.crowd.excepts(); !p.asked {
			return place{}, q.crowded()
		}
	}
	q.places++
	return p, nil
}

// guest is the place of a worker, which is counted and bounded elsewhere: the ranks of a large engine come all at once and
// hold little, so that only their bodies and turns matter here.
func (q *queue) guest() place { return place{queue: q, guest: true, asked: true} }

// join counts a request whose body is complete among those that are to be decided, unless there is a crowd by now. Who was
// asked in stays: an exception, or a guest, for whom other ranks wait.
func (q *queue) join(asked bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !asked && q.crowd.lasts() {
		return q.crowded()
	}
	q.crowd.ready++
	return nil
}

// part takes back a join.
func (q *queue) part() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.crowd.ready--
}

func (q *queue) crowded() error {
	return q.reject(reasonCrowd, "requests come faster than they are decided: %d wait to be; try again later", q.crowd.ready)
}

// close refuses all further requests and returns a channel that is closed once no place is taken.
func (q *queue) close() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
	return q.idle
}

func (q *queue) signal() {
	if q.closed && q.places == 0 {
		select {
		case <-q.idle:
		default:
			close(q.idle)
		}
	}
}

func (q *queue) reject(reason, format string, args ...any) error {
	q.rejections.WithLabelValues(reason).Inc()
	return &refusal{v1.CodeOverloaded, fmt.Sprintf(format, args...)}
}

// load is the places and bytes taken.
func (q *queue) load() (places int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.places, q.bytes
}

// gauges show the load.
func (q *queue) gauges() []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		gauge("tiergate_queue_requests", "Requests in work or waiting for their turn.", func() float64 {
			places, _ := q.load()
			return float64(places)
		}),
		gauge("tiergate_queue_body_bytes", "Bytes of request bodies that are held.", func() float64 {
			_, bytes := q.load()
			return float64(bytes)
		}),
		gauge("tiergate_queue_turns", "Requests that are being decoded and decided.", func() float64 {
			return float64(q.working.Load())
		}),
	}
}

// place is what one request holds. The zero value holds nothing.
type place struct {
	queue *queue
	guest bool
	// asked is set for who is let in whatever crowd there is.
	asked bool
	ready bool
	bytes int64
	turn  int64
}

// reserve adds n bytes to what the body of the request holds.
func (p *place) reserve(n int64) error {
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes+n > q.maxBytes {
		return q.reject(reasonBytes,
			"the bodies of all requests hold %d of %d bytes; try again later", q.bytes, q.maxBytes)
	}
	q.bytes += n
	p.bytes += n
	return nil
}

// wait takes a turn for a document of that size, first come, first served, as long as the context allows. It is refused at
// once in a crowd.
func (p *place) wait(ctx context.Context, size int64, yaml bool) error {
	if err := p.queue.join(p.asked); err != nil {
		return err
	}
	p.ready = true
	// Requests that wait for a processor are seen by nobody. So all that have arrived are read, and counted or refused, which
	// costs little, before this one is decided.
	runtime.Gosched()
	weight := int64(jsonWeight)
	if yaml {
		weight = yamlWeight
	}
	turn := min(max(weight*size, p.queue.leastTurn), p.queue.capacity)
	if err := p.queue.turns.Acquire(ctx, turn); err != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return p.queue.reject(reasonDeadline, "no turn came before the deadline; try again later")
		}
		return err
	}
	p.turn = turn
	p.queue.working.Add(1)
	return nil
}

// done passes the turn on.
func (p *place) done() {
	if p.turn > 0 {
		p.queue.turns.Release(p.turn)
		p.queue.working.Add(-1)
		p.turn = 0
	}
	if p.ready {
		p.queue.part()
		p.ready = false
	}
}

// release gives back what was reserved.
func (p *place) release() {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	p.queue.bytes -= p.bytes
	p.bytes = 0
}

// leave gives everything back.
func (p *place) leave() {
	if p.queue == nil {
		return
	}
	p.done()
	p.queue.mu.Lock()
	if !p.guest {
		p.queue.places--
	}
	p.queue.bytes -= p.bytes
	p.queue.signal()
	p.queue.mu.Unlock()
	*p = place{}
}
