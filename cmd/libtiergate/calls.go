package main

import (
	"context"
	"errors"
	"sync"
)

var (
	errCancelled   = errors.New("cancelled by the caller")
	errUnknownCall = errors.New("a call needs an id of its own from tiergate_begin")
)

// calls are those under way, by id, so that another thread can cancel one. An id may be cancelled before its call.
type callTable struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*call
}

type call struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func newCalls() *callTable { return &callTable{open: map[uint64]*call{}} }

// begin makes an id for one call.
func (t *callTable) begin() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	c := new(call)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	t.open[t.last] = c
	return t.last
}

// enter returns the context of an id's call, and what ends it. An unknown id, or one whose call has ended, is cancelled
// already.
func (t *callTable) enter(id uint64) (ctx context.Context, end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.open[id]
	if c == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errUnknownCall)
		return ctx, func() {}
	}
	return c.ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		c.cancel(nil)
		delete(t.open, id)
	}
}

func (t *callTable) cancel(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.open[id]; c != nil {
		c.cancel(errCancelled)
	}
}
