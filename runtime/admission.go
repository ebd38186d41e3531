package runtime

import (
	"fmt"
	"slices"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// believe is nil only for an allow that is about this rank as it runs. Everything that the rank itself knows is
// compared, so that a mistake elsewhere, or an answer that was meant for another, never starts an engine.
func (r *registration) believe(a *v1.Admission) error {
	if a.Outcome == v1.Reject {
		return &RejectedError{Admission: a, Verdict: r.verdict}
	}
	if err := r.bound(a); err != nil {
		return err
	}
	if err := r.proven(a); err != nil {
		return err
	}
	return r.inTime()
}

// inTime fails once the time is over. The others may have given up by then.
func (r *registration) inTime() error {
	if late := time.Since(r.clock.end()); late > 0 {
		return fmt.Errorf("%w: rank %d would go on %s after its deadline; it was stopped or starved meanwhile", ErrLate,
			r.member.Rank, late.Round(time.Millisecond))
	}
	return nil
}

// bound compares what an admission is bound to.
func (r *registration) bound(a *v1.Admission) error {
	own := v1.AdmittedRank{Rank: r.member.Rank, Incarnation: r.report.Incarnation, ConfigurationDigest: r.digest}
	if r.report.Segment != nil {
		own.SegmentSHA256 = r.report.Segment.SHA256
	}
	switch {
	case a.Outcome != v1.Allow:
		return r.client.unexpected("an admission with the outcome %.40q", a.Outcome)
	case a.Attempt != r.last.Attempt || a.AttemptID != r.last.AttemptID:
		return r.client.unexpected("an admission of attempt %d (%.40s), not of attempt %d (%.40s)", a.Attempt, a.AttemptID,
			r.last.Attempt, r.last.AttemptID)
	case a.Rank == nil:
		return r.client.unexpected("an admission that does not list rank %d", own.Rank)
	case *a.Rank != own:
		return r.client.unexpected("an admission that is bound to %+v, but this rank is %+v", *a.Rank, own)
	case a.Code != "" || a.Disagreement:
		return r.client.unexpected("an admission that allows in spite of %.80q", a.Code)
	case r.verdict != nil && r.verdict.Outcome == v1.Deny:
		return r.client.unexpected("an admission that allows what the verdict denies")
	}
	return nil
}

// proven compares the probed groups with the rank's own groups and answers. An admission of a large engine does not
// list all groups; then the rank's own answers stand for those that are left out.
func (r *registration) proven(a *v1.Admission) error {
	listed := map[string]bool{}
	for i := range a.Groups {
		g := &a.Groups[i]
		if g.Outcome != v1.Shared || g.Facts == v1.NotShared || len(g.Members) > 0 {
			return r.client.unexpected("an admission that allows although group %s %v is %q, by facts %q", g.Kind, g.Ranks,
				g.Outcome, g.Facts)
		}
		if !slices.Contains(g.Ranks, r.member.Rank) {
			continue
		}
		if err := r.own(g); err != nil {
			return err
		}
		listed[g.Kind] = true
	}
	if r.verdict == nil {
		return nil
	}
	for _, g := range r.verdict.Probe {
		if slices.Contains(g.Ranks, r.member.Rank) && !listed[g.Kind] && (a.MoreGroups == 0 || !r.read(g.Kind)) {
			return r.client.unexpected("an admission without group %s %v, which the verdict wants probed", g.Kind, g.Ranks)
		}
	}
	return nil
}

// own compares a probed group with the rank's own of that kind, and with what the rank found there.
func (r *registration) own(g *v1.ProbedGroup) error {
	own := r.member.Groups[g.Kind]
	switch {
	case !slices.Contains(probedKinds[:], g.Kind) || !slices.Equal(g.Ranks, own):
		return r.client.unexpected("an admission with group %s %v, but that of rank %d is %v", g.Kind, g.Ranks, r.member.Rank, own)
	case !r.read(g.Kind):
		return r.client.unexpected("an admission that calls group %s %v shared, which rank %d did not find", g.Kind, g.Ranks,
			r.member.Rank)
	}
	return nil
}

// read tells whether this rank read the segment of its group's leader.
func (r *registration) read(kind string) bool {
	return slices.ContainsFunc(r.answers, func(p v1.ProbeAnswer) bool { return p.Kind == kind && p.Outcome == v1.Shared })
}
