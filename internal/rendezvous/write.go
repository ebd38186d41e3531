package rendezvous

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// awaited is a record that somebody here writes. Its channel is closed when the record, or another one in its place, has
// been folded.
type awaited struct {
	done    chan struct{}
	writers int
}

// arrived wakes those who wait for a record and tells whether there were any. It needs the lock.
func (s *Service) arrived(name string) bool {
	w := s.awaited[name]
	if w == nil {
		return false
	}
	close(w.done)
	delete(s.awaited, name)
	return true
}

// await joins those who wait for a record, and tells whether the caller is the first. It needs the lock.
func (s *Service) await(name string) (w *awaited, first bool) {
	w = s.awaited[name]
	if w == nil {
		w = &awaited{done: make(chan struct{})}
		s.awaited[name] = w
	}
	w.writers++
	return w, w.writers == 1
}

// resign leaves those who wait.
func (s *Service) resign(name string, w *awaited) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.writers--; w.writers == 0 && s.awaited[name] == w {
		delete(s.awaited, name)
	}
}

// The pauses between tries to write. A store that elects a leader answers again within a second or two.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// write sees to it that the journal has a record, and returns when it has been folded, whoever wrote it: the caller looks
// at what has become true. What cannot be written is tried again as long as the context allows.
func (s *Service) write(ctx context.Context, k recordKey, record func() []byte, ttl time.Duration) error {
	name := k.String()
	s.mu.Lock()
	if s.has(k) {
		s.mu.Unlock()
		return nil
	}
	w, first := s.await(name)
	s.mu.Unlock()
	defer s.resign(name, w)
	var failed error
	var value []byte
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		// Of several that open an attempt one writes, the others only wait, and try themselves if that takes long.
		if first || pause > firstPause {
			if value == nil {
				value = record()
			}
			failed = s.opts.Journal.Create(ctx, name, value, ttl)
		}
		wait := pause + time.Duration(rand.Int64N(int64(pause)))
		if failed == nil || errors.Is(failed, ErrExists) {
			wait = lastPause // it will be delivered
		}
		select {
		case <-w.done:
			return nil
		case <-ctx.Done():
			return s.unwritten(ctx, failed)
		case <-time.After(wait):
		}
	}
}

// has tells whether a record was folded already. It needs the lock.
func (s *Service) has(k recordKey) bool {
	eng := s.engines[k.Key]
	if k.kind == recordSpec {
		last := eng.last()
		return last != nil && last.n >= k.attempt
	}
	a := eng.find(k.attempt)
	return a == nil || k.id != a.spec.ID || a.has(k) // of what is forgotten, nobody wants to know any more
}

// unwritten says why a record is not there in time.
func (s *Service) unwritten(ctx context.Context, failed error) error {
	if failed == nil || errors.Is(failed, ErrExists) {
		failed = context.Cause(ctx)
	}
	return &Error{Code: v1.CodeStore, Detail: "the state of the service could not be written in time: " + failed.Error()}
}
