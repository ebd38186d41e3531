package rendezvous

import (
	"context"
	"math/rand/v2"
	"time"
)

// maxDeciding is how many verdicts are in the making at once; the policy engine has no more instances than processors.
const maxDeciding = 4

// Run folds the journal until the context ends. It owns every goroutine of the service and returns after them. When the
// journal turns out to be another one, everything is folded again, and workers report again by themselves.
func (s *Service) Run(ctx context.Context) error {
	s.mu.Lock()
	s.base = ctx
	s.mu.Unlock()
	defer s.stop()
	for pause := time.Duration(0); ; {
		err := s.opts.Journal.Watch(ctx, s.fold, s.caughtUp)
		if ctx.Err() != nil {
			return nil
		}
		s.opts.Logger.Error("journal lost; folding it anew", "error", err)
		if s.reset() {
			pause = 0 // it had worked
		}
		pause = min(2*pause+time.Duration(rand.Int64N(int64(100*time.Millisecond))), 5*time.Second)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// caughtUp begins to act on what is open: before that, what looks missing may be further on in the journal.
func (s *Service) caughtUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
	for _, eng := range s.engines {
		if a := eng.last(); a.open() {
			s.act(a, false)
		}
	}
}

// Ready tells whether the journal has been folded and is being watched.
func (s *Service) Ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready && s.base != nil
}

// reset forgets everything and tells whether the service was ready.
func (s *Service) reset() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, eng := range s.engines {
		for _, a := range eng.attempts {
			a.forget()
		}
		delete(s.engines, k)
		s.signal(k)
	}
	for name := range s.awaited {
		s.arrived(name)
	}
	was := s.ready
	s.ready = false
	return was
}

func (s *Service) stop() {
	s.reset()
	s.mu.Lock()
	s.base = nil
	s.mu.Unlock()
	s.tasks.Wait()
}

// forget drops an attempt that the journal does not have any more.
func (s *Service) forget(k recordKey) {
	eng := s.engines[k.Key]
	if eng == nil {
		return
	}
	kept := eng.attempts[:0]
	for _, a := range eng.attempts {
		if a.n == k.attempt {
			a.forget()
		} else {
			kept = append(kept, a)
		}
	}
	clear(eng.attempts[len(kept):])
	if eng.attempts = kept; len(kept) == 0 {
		delete(s.engines, k.Key)
	}
	s.signal(k.Key)
}

// forget wakes whoever waits.
func (a *attempt) forget() {
	if a.timer != nil {
		a.timer.Stop()
	}
	if a.open() {
		if a.verdict == nil {
			close(a.decided)
		}
		close(a.ended)
	}
	a.forgotten = true
}

// spawn runs a task that Run waits for. It needs the lock.
func (s *Service) spawn(task func(context.Context)) {
	if ctx := s.base; ctx != nil && ctx.Err() == nil {
		s.tasks.Go(func() { task(ctx) })
	}
}

// after runs a task later, unless the service ends before. It needs the lock.
func (s *Service) after(d time.Duration, task func(context.Context)) *time.Timer {
	return time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.spawn(task)
	})
}
