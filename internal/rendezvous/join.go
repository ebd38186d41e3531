package rendezvous

import (
	"context"
	"fmt"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// outlast waits for the end of an attempt that has its verdict without this rank, which can then be part of the next one.
func (s *Service) outlast(ctx context.Context, a *attempt) error {
	select {
	case <-a.ended:
		return nil
	case <-ctx.Done():
		return &Error{Code: v1.CodeStore, Detail: fmt.Sprintf(
			"attempt %d of engine %s is under way without this rank; report again after it ended", a.n, a.key.Engine)}
	}
}

// join returns the attempt that a report is part of. It opens one where none is open, and takes the rank in, or gives up
// when the time is over, but not before it tried for a while to write.
func (s *Service) join(ctx context.Context, by Caller, rank int64, r *v1.Report, until time.Time) (*attempt, error) {
	ctx, cancel := context.WithDeadline(ctx, latest(until, time.Now().Add(storeTimeout)))
	defer cancel()
	for {
		s.mu.Lock()
		if !s.ready {
			s.mu.Unlock()
			return nil, s.notReady()
		}
		eng := s.engines[by.Key]
		if a := eng.took(rank, r.Incarnation); a != nil {
			s.mu.Unlock()
			return a, a.refuses(by)
		}
		a := eng.last()
		if a != nil && a.open() {
			if err := a.refuses(by); err != nil {
				s.mu.Unlock()
				return nil, err
			}
		}
		holder := a != nil && a.open() && a.members[rank] != nil
		late := a != nil && a.open() && a.verdict != nil
		s.mu.Unlock()
		var err error
		switch {
		case a == nil || !a.open():
			err = s.openAttempt(ctx, by, a, r)
		case holder:
			err = s.challenge(ctx, a, rank, r.Incarnation)
		case late:
			err = s.outlast(ctx, a)
		default:
			err = s.write(ctx, a.record(recordReport, rank), func() []byte { return encode(r) }, a.life())
		}
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, s.unwritten(ctx, nil)
		}
	}
}

// openAttempt opens the attempt after the last one.
func (s *Service) openAttempt(ctx context.Context, by Caller, last *attempt, r *v1.Report) error {
	n := int64(1)
	if last != nil {
		n = last.n + 1
	}
	report, probe := phases(time.Duration(r.DeadlineMS) * time.Millisecond)
	spec := specRecord{
		ID: newID(), World: r.WorldSize, By: by.By, ReportMS: report.Milliseconds(), ProbeMS: probe.Milliseconds(),
	}
	k := recordKey{Key: by.Key, attempt: n, kind: recordSpec, rank: -1}
	return s.write(ctx, k, func() []byte { return encode(spec) }, report+probe+s.opts.Keep)
}

// shortestProbe is what opening three files and one request may take on a machine that is loading a model.
const shortestProbe = 5 * time.Second

// phases divides the opener's deadline. With a short one the probe phase outlasts it: whoever opened then gives up first.
func phases(deadline time.Duration) (report, probe time.Duration) {
	probe = max(deadline/4, shortestProbe)
	return max(deadline-probe, deadline/2), probe
}

// took finds the attempt that an incarnation is part of, among those whose ranks are still at hand. It needs the lock.
func (e *engine) took(rank int64, incarnation string) *attempt {
	if e == nil {
		return nil
	}
	for i := len(e.attempts) - 1; i >= 0; i-- {
		if a := e.attempts[i]; a.incarnation(rank) == incarnation {
			return a
		}
	}
	return nil
}

// refuses tells whether an attempt is another identity's. Who holds credentials for an engine could otherwise end or join what
// somebody else started under its name.
func (a *attempt) refuses(by Caller) error {
	if by.By == "" || a.spec.By == "" || by.By == a.spec.By {
		return nil
	}
	return &Error{Code: v1.CodeForbidden, Detail: fmt.Sprintf(
		"attempt %d of engine %s was opened by %s, and %s asks; all ranks of an engine use one identity: give these workers the same "+
			"credentials, or another engine id", a.n, a.key.Engine, a.spec.By, by.By)}
}

// incarnation is the one that has a rank, or empty. It needs the lock.
func (a *attempt) incarnation(rank int64) string {
	if m := a.members[rank]; m != nil {
		return m.report.Incarnation
	}
	if a.end != nil && a.end.record != nil {
		if b := a.end.record.bound(rank); b != nil {
			return b.Incarnation
		}
	}
	return ""
}

// enter notes that an incarnation is being served, until the function that it returns is called.
func (s *Service) enter(a *attempt, rank int64, incarnation string) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting++
	m := a.members[rank]
	if m == nil || m.report.Incarnation != incarnation {
		return func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.waiting--
		}
	}
	m.presence.enter()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting--
		m.presence.leave()
	}
}
