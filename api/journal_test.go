package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tiergate/tiergate/internal/rendezvous"
)

// memoryJournal keeps everything in order, for as long as it is not lost.
type memoryJournal struct {
	mu      sync.Mutex
	entries []rendezvous.Entry
	written map[string]bool
	grown   chan struct{}
	// down: nothing can be written or read.
	down bool
}

func newMemoryJournal() *memoryJournal {
	return &memoryJournal{written: map[string]bool{}, grown: make(chan struct{})}
}

var errDown = errors.New("the store is down")

func (j *memoryJournal) Create(_ context.Context, key string, value []byte, _ time.Duration) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.down:
		return errDown
	case j.written[key]:
		return rendezvous.ErrExists
	}
	j.written[key] = true
	j.entries = append(j.entries, rendezvous.Entry{Key: key, Value: value, Time: time.Now()})
	j.wake()
	return nil
}

func (j *memoryJournal) wake() {
	close(j.grown)
	j.grown = make(chan struct{})
}

// lose ends the watch and lets nobody watch or write again until it is told otherwise.
func (j *memoryJournal) lose(down bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.down = down
	j.wake()
}

func (j *memoryJournal) Watch(ctx context.Context, deliver func(rendezvous.Entry), caughtUp func()) error {
	for delivered, first := 0, true; ; first = false {
		j.mu.Lock()
		news, grown, down := j.entries[delivered:], j.grown, j.down
		j.mu.Unlock()
		if down {
			return errDown
		}
		for _, entry := range news {
			deliver(entry)
		}
		delivered += len(news)
		if first {
			caughtUp()
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
