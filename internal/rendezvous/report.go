package rendezvous

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// storeTimeout is how long a call tries to write what it brought, even if it does not want to wait for an answer.
const storeTimeout = 5 * time.Second

// Report takes the report of a rank and waits for the verdict, or for the end. Progress has the verdict, or an admission,
// or neither when the wait is over. A repeat by the same incarnation changes nothing. Errors are *EndedError, *Error, and
// that of a context that ended.
func (s *Service) Report(ctx context.Context, key Key, rank int64, r *v1.Report, wait time.Duration) (*v1.Progress, error) {
	if err := checkReport(rank, r); err != nil {
		return nil, err
	}
	until := time.Now().Add(wait)
	a, err := s.join(ctx, key, rank, r, until)
	if err != nil {
		return nil, err
	}
	incarnation := r.Incarnation // of thousands that wait, nobody holds the whole report
	leave := s.enter(a, rank, incarnation)
	defer leave()
	if err := sleep(ctx, a.decided, until); err != nil {
		return nil, err
	}
	return s.progress(a, rank, incarnation, func(p *v1.Progress) {
		if a.verdict == nil {
			p.Missing = a.missing()
			return
		}
		p.Verdict, p.Segments = a.verdictFor(rank), a.segmentsOf(rank)
	})
}

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
func (s *Service) join(ctx context.Context, key Key, rank int64, r *v1.Report, until time.Time) (*attempt, error) {
	ctx, cancel := context.WithDeadline(ctx, latest(until, time.Now().Add(storeTimeout)))
	defer cancel()
	for {
		s.mu.Lock()
		if !s.ready {
			s.mu.Unlock()
			return nil, s.notReady()
		}
		eng := s.engines[key]
		if a := eng.took(rank, r.Incarnation); a != nil {
			s.mu.Unlock()
			return a, nil
		}
		a := eng.last()
		holder := a != nil && a.open() && a.members[rank] != nil
		late := a != nil && a.open() && a.verdict != nil
		s.mu.Unlock()
		var err error
		switch {
		case a == nil || !a.open():
			err = s.openAttempt(ctx, key, a, r)
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
func (s *Service) openAttempt(ctx context.Context, key Key, last *attempt, r *v1.Report) error {
	n := int64(1)
	if last != nil {
		n = last.n + 1
	}
	report, probe := phases(time.Duration(r.DeadlineMS) * time.Millisecond)
	spec := specRecord{ID: newID(), World: r.WorldSize, ReportMS: report.Milliseconds(), ProbeMS: probe.Milliseconds()}
	k := recordKey{Key: key, attempt: n, kind: recordSpec, rank: -1}
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

// progress is what a call tells a rank of its attempt; open adds to it while the attempt is.
func (s *Service) progress(a *attempt, rank int64, incarnation string, open func(*v1.Progress)) (*v1.Progress, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &v1.Progress{Attempt: a.n, AttemptID: a.spec.ID, Phase: a.phase(), RemainingMS: a.remaining().Milliseconds()}
	switch {
	case a.end != nil:
		return a.concluded(p, rank, incarnation)
	case a.forgotten:
		return nil, gone(a.key, a.n)
	}
	open(p)
	return p, nil
}

// concluded tells a rank how its attempt ended. It needs the lock.
func (a *attempt) concluded(p *v1.Progress, rank int64, incarnation string) (*v1.Progress, error) {
	record, err := a.end.read()
	if err != nil {
		return nil, err
	}
	b := record.bound(rank)
	if record.Admission == nil || b == nil || b.Incarnation != incarnation {
		return nil, &EndedError{record.AttemptEnd}
	}
	result := toldAdmission(record.Admission, rank)
	result.Rank = &v1.AdmittedRank{
		Rank: rank, Incarnation: b.Incarnation, ConfigurationDigest: record.Digests[b.Digest], SegmentSHA256: b.Segment,
	}
	p.Admission = result
	if a.verdict != nil {
		verdict, err := a.verdict.read()
		if err != nil {
			return nil, err
		}
		p.Verdict = toldVerdict(verdict)
	}
	return p, nil
}

// newID is 128 random bits in hex.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails, by its documentation
	return hex.EncodeToString(id[:])
}

// sleep waits for a channel, at most until a time. It is an error only if the context ends.
func sleep(ctx context.Context, done <-chan struct{}, until time.Time) error {
	select { // what is there already needs no timer
	case <-done:
		return nil
	default:
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s *Service) notReady() error {
	return &Error{Code: v1.CodeStore, Detail: "the service has not read its state yet; try again"}
}
