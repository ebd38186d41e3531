package rendezvous

import (
	"context"
	"slices"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
)

// Probe takes the answers of a rank and waits for the admission. Progress has it, or not when the wait is over. A repeat
// changes nothing. Errors are as for Report.
func (s *Service) Probe(ctx context.Context, by Caller, n, rank int64, p *v1.Probe, wait time.Duration) (*v1.Progress, error) {
	if err := checkIncarnation(p.Incarnation); err != nil {
		return nil, err
	}
	until := time.Now().Add(wait)
	a, err := s.lookUp(by, n, p.AttemptID)
	if err != nil {
		return nil, err
	}
	leave := s.enter(a, rank, p.Incarnation)
	defer leave()
	// The rank may have its verdict from another process, which is ahead in the journal.
	if err := sleep(ctx, a.decided, latest(until, time.Now().Add(storeTimeout))); err != nil {
		return nil, err
	}
	outcomes, err := s.outcomes(a, rank, p)
	if err != nil {
		return nil, err
	}
	if outcomes != nil {
		s.answered(a, answer{rank, p.Incarnation, outcomes})
	}
	if err := sleep(ctx, a.ended, until); err != nil {
		return nil, err
	}
	answer, err := s.progress(a, rank, p.Incarnation, func(answer *v1.Progress) {
		// This rank's own answer has been taken, though it may not be written yet.
		answer.Missing = slices.DeleteFunc(a.unanswered(), func(missing int64) bool { return missing == rank })
	})
	if err != nil {
		return nil, err
	}
	answer.Verdict = nil // the rank has had it since its report, and it is most of the answer
	return answer, nil
}

// outcomes is what the answers come to; nil if they are not wanted, because they are there already or the attempt ended.
func (s *Service) outcomes(a *attempt, rank int64, p *v1.Probe) ([]v1.RankProbe, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !a.open() {
		return nil, nil
	}
	m := a.members[rank]
	switch {
	case a.verdict == nil:
		return nil, &Error{Code: v1.CodeStore, Detail: "this service has not read the verdict of the attempt yet; try again"}
	case m == nil || m.report.Incarnation != p.Incarnation:
		return nil, invalid("/incarnation", "incarnation %s has not reported as rank %d in attempt %d", p.Incarnation, rank, a.n)
	case m.outcomes != nil:
		return nil, nil
	}
	outcomes := admission.Outcomes(a.segmentsOf(rank), a.reportOf, p.Answers)
	if outcomes == nil {
		outcomes = []v1.RankProbe{}
	}
	return outcomes, nil
}

// lookUp finds an attempt by number and id, if it is the caller's.
func (s *Service) lookUp(by Caller, n int64, id string) (*attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		return nil, s.notReady()
	}
	a := s.engines[by.Key].find(n)
	if a == nil || a.spec.ID != id {
		return nil, gone(by.Key, n)
	}
	return a, a.refuses(by)
}
