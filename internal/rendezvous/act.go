package rendezvous

import (
	"context"
	"math/rand/v2"
	"time"
)

// standby is how long a process leaves the next record to the one that wrote the last: usually one of them makes the
// verdict and the end, and the others only if it vanished.
const standby = 300 * time.Millisecond

// recordGrace is how long reports and answers outlive their attempt.
const recordGrace = 30 * time.Second

// startPhase sets the end of a phase that began at a time of the store. A phase that was folded live began just now, by this
// process's own clock; one from before this process started is dated back, but never into the future or beyond its
// length, so that no clock can stretch it. It needs the lock.
func (s *Service) startPhase(a *attempt, length time.Duration, began time.Time) {
	left := length
	if !s.ready {
		left = min(max(length-time.Since(began), 0), length)
	}
	a.phaseEnd = time.Now().Add(left)
	if a.timer != nil {
		a.timer.Stop()
	}
	a.timer = s.after(left, func(ctx context.Context) { s.expire(ctx, a) })
}

// act starts what the attempt is ready for. Local tells that the record before came from this process. It needs the lock.
func (s *Service) act(a *attempt, local bool) {
	switch {
	case !a.open():
	case a.verdict == nil && a.complete():
		s.soon(a, recordVerdict, local, s.decide)
	case a.verdict != nil && a.verdict.unanswered == 0:
		s.soon(a, recordEnd, local, s.admit)
	}
}

// soon runs a task of an attempt once: at once, or where another process is likelier to do it, if it did not.
func (s *Service) soon(a *attempt, kind string, local bool, task func(context.Context, *attempt)) {
	if a.busy[kind] {
		return
	}
	a.busy[kind] = true
	if local || s.opts.Solo {
		s.spawn(func(ctx context.Context) { task(ctx, a) })
		return
	}
	wait := standby + time.Duration(rand.Int64N(int64(standby)))
	s.after(wait, func(ctx context.Context) {
		s.mu.Lock()
		done := !a.open() || kind == recordVerdict && a.verdict != nil
		s.mu.Unlock()
		if !done {
			task(ctx, a)
		}
	})
}

// record is the address of one of an attempt's records.
func (a *attempt) record(kind string, rank int64) recordKey {
	return recordKey{Key: a.key, attempt: a.n, id: a.spec.ID, kind: kind, rank: rank}
}

// life is how long reports and answers are kept.
func (a *attempt) life() time.Duration { return a.spec.report() + a.spec.probe() + recordGrace }
