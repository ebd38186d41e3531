package rendezvous

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
)

// cooling is how long an end is kept decoded, because ranks ask for it.
const cooling = time.Minute

// finish writes the end of an attempt and tells whether it is the one that counts: another end may have been first.
func (s *Service) finish(ctx context.Context, a *attempt, kind string, ranks []int64, message string, result *v1.Admission) bool {
	s.mu.Lock()
	if !a.open() {
		s.mu.Unlock()
		return false
	}
	record := a.conclude(kind, ranks, message)
	last := a.last
	s.mu.Unlock()
	if result != nil {
		result.Attempt, result.AttemptID, result.Message = a.n, a.spec.ID, message
		record.Admission = result
	}
	err := s.write(ctx, a.record(recordEnd, -1), func() []byte { return encode(record) }, s.keep(a))
	if err != nil {
		if ctx.Err() == nil {
			s.opts.Logger.Error("end not written", "engine", a.key.Engine, "attempt", a.n, "error", err)
		}
		return false
	}
	return s.concluded(a, record, last)
}

// concluded tells observers about an end, if it is the one that this process wrote.
func (s *Service) concluded(a *attempt, wrote *endRecord, last time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.end == nil || a.end.record == nil || a.end.record.Nonce != wrote.Nonce {
		return false
	}
	outcome, code, disagreement := "", "", false
	if r := wrote.Admission; r != nil {
		outcome, code, disagreement = r.Outcome, r.Code, r.Disagreement
	}
	s.opts.Observe.Ended(wrote.Kind, outcome, code, disagreement, time.Since(last))
	var verdict *v1.Verdict
	if a.verdict != nil {
		verdict = a.verdict.verdict
	}
	s.opts.Observe.Concluded(a.key, &wrote.AttemptEnd, wrote.Admission, verdict)
	s.opts.Logger.Info("attempt ended", "engine", a.key.Engine, "attempt", a.n, "attempt_id", a.spec.ID, "kind", wrote.Kind,
		"outcome", outcome, "code", code, "ranks", wrote.AttemptEnd.Ranks, "message", wrote.Message)
	return true
}

// conclude gathers what is told of an attempt after its end. It needs the lock.
func (a *attempt) conclude(kind string, ranks []int64, message string) *endRecord {
	r := &endRecord{
		AttemptEnd: v1.AttemptEnd{Attempt: a.n, AttemptID: a.spec.ID, Kind: kind, Ranks: ranks, Message: message},
		Nonce:      newID(),
		Views:      a.rankViews(),
		Missing:    a.missing(),
	}
	r.CoreFree = a.verdict != nil && !admission.CoreInForce(a.verdict.verdict)
	for _, m := range a.sorted() {
		digest := slices.Index(r.Digests, m.digest)
		if digest < 0 {
			digest = len(r.Digests)
			r.Digests = append(r.Digests, m.digest)
		}
		bound := boundRank{Rank: m.rank, Incarnation: m.report.Incarnation, Digest: digest}
		if m.report.Segment != nil {
			bound.Segment = m.report.Segment.SHA256
		}
		r.Bound = append(r.Bound, bound)
		if m.rank == 0 {
			r.First = &m.report.Facts
		}
		if r.Parallel == nil {
			r.Parallel, r.DPRank = m.report.Configuration.Parallel, m.report.DataParallelRank
		}
	}
	return r
}

// expire ends an attempt whose phase is over. Between the last report and the verdict nobody is missing; then the policy
// had no time.
func (s *Service) expire(ctx context.Context, a *attempt) {
	s.mu.Lock()
	open, verdict := a.open(), a.verdict != nil
	missing, unanswered := a.missing(), a.unanswered()
	message, ranks := "", []int64(nil)
	switch {
	case !open:
	case verdict && a.verdict.unanswered == 0, !verdict && len(missing) == 0:
		message = fmt.Sprintf("attempt %d of engine %s timed out: all ranks answered, but no decision was made and written in time; "+
			"see this service's log and its store", a.n, a.key.Engine)
	case verdict:
		ranks = unanswered
		message = fmt.Sprintf("attempt %d of engine %s timed out after %s: %s reported but did not answer the probe: %s; "+
			"see the log of these workers, then start the whole engine again", a.n, a.key.Engine, a.spec.probe(),
			admission.RankList(ranks), a.located(ranks))
	default:
		ranks = missing
		message = fmt.Sprintf("attempt %d of engine %s timed out after %s: no report from %s of %d; reported: %s; "+
			"see whether these workers started, whether they reach this service and use the same engine id, then start the whole "+
			"engine again", a.n, a.key.Engine, a.spec.report(), admission.RankList(ranks), a.world(), a.present())
	}
	s.mu.Unlock()
	if open {
		s.finish(ctx, a, v1.EndTimedOut, ranks, message, nil)
	}
}

// present lists who reported, for people. It needs the lock.
func (a *attempt) present() string {
	ranks := make([]int64, 0, len(a.members))
	for _, m := range a.sorted() {
		ranks = append(ranks, m.rank)
	}
	if len(ranks) == 0 {
		return "nobody"
	}
	return a.located(ranks)
}

// located says on which nodes ranks are. It needs the lock.
func (a *attempt) located(ranks []int64) string {
	return admission.Located(ranks, func(rank int64) string { return admission.NodeName(a.reportOf(rank)) })
}
