package rendezvous

import (
	"context"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// storeTimeout is how long a call tries to write what it brought, even if it does not want to wait for an answer.
const storeTimeout = 5 * time.Second

// Report takes the report of a rank and waits for the verdict, or for the end. Progress has the verdict, or an admission,
// or neither when the wait is over. A repeat by the same incarnation changes nothing. Errors are *EndedError, *Error, and
// that of a context that ended.
func (s *Service) Report(ctx context.Context, by Caller, rank int64, r *v1.Report, wait time.Duration) (*v1.Progress, error) {
	if err := checkReport(rank, r); err != nil {
		return nil, err
	}
	until := time.Now().Add(wait)
	a, err := s.join(ctx, by, rank, r, until)
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
