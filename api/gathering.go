package api

import (
	"context"
	"sync"
)

// maxWatching is how many look on at once; each may have a whole engine written several times a second.
const maxWatching = 256

// gathering bounds exchanges that last: those of workers, from before their body is read until their answer is written, and
// those of watchers. They take no places of the queue, since 10,000 may wait at once, for minutes.
type gathering struct {
	most   int
	reason string
	queue  *queue

	// closing ends with errShuttingDown as soon as nobody may wait any more.
	closing context.Context
	shut    context.CancelCauseFunc

	mu      sync.Mutex
	present int
	left    sync.WaitGroup
}

func newGathering(most int, reason string, q *queue) *gathering {
	g := &gathering{most: most, reason: reason, queue: q}
	g.closing, g.shut = context.WithCancelCause(context.Background())
	return g
}

// enter lets somebody in. The context is that of a request, and ends with errShuttingDown when the gathering closes; leave
// must be called.
func (g *gathering) enter(request context.Context) (ctx context.Context, leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closing.Err() != nil:
		return nil, nil, errShuttingDown
	case g.present >= g.most:
		return nil, nil, g.queue.reject(g.reason, "%d clients are %s, which is the most; try again later", g.present, g.reason)
	}
	g.present++
	g.left.Add(1)
	ctx, cancel := context.WithCancelCause(request)
	forget := context.AfterFunc(g.closing, func() { cancel(errShuttingDown) })
	return ctx, func() {
		forget()
		cancel(nil)
		g.mu.Lock()
		g.present--
		g.mu.Unlock()
		g.left.Done()
	}, nil
}

// close sends everybody home.
func (g *gathering) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut(errShuttingDown)
}

// wait returns when everybody has left, after close.
func (g *gathering) wait() { g.left.Wait() }

func (g *gathering) load() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.present
}
