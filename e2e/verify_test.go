package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/e2e/worker"
	"github.com/tiergate/tiergate/internal/hosttest"
)

// promptly is within what every rank must know of a rejection after the last one reported.
const promptly = time.Second

// vLLM's own error begins so (vllm 62930); operators search for it.
const spanning = "TieringOffloadingSpec secondary tiers are not supported on engines whose workers span several nodes"

// rejection is what a rejected engine must have come to.
type rejection struct {
	code         string
	disagreement bool
	// facts say of a group.
	facts func(l line) string
}

// verifyRejected checks everything that a rejection promises. Findings go to f, so that a test of this check can count them.
func (s *site) verifyRejected(f assert.TestingT, t testing.TB, tap *hosttest.Wiretap, run *started, results []worker.Result, want rejection) {
	first := results[0]
	assert.Contains(f, first.Error, spanning)
	for _, g := range s.probed(run.engine, want.facts) {
		if g.Outcome == v1.Shared && g.Facts != v1.NotShared {
			continue
		}
		for _, rank := range g.Ranks {
			name := s.places[[]rune(run.engine.placement)[rank]].host.Name
			assert.Contains(f, first.Error, name, "where rank %d of the %s group %v is", rank, g.Kind, g.Ranks)
		}
	}
	var lastSent, lastReturned int64
	opened := s.opened(run.engine)
	for i, r := range results {
		assert.Equal(f, "rejected", r.Kind, "rank %d", i)
		assert.Equal(f, first.Error, r.Error, "all ranks fail with one error")
		lastSent, lastReturned = max(lastSent, r.Sent), max(lastReturned, r.Returned)
		assert.Equal(f, opened[i], bare(r.Opened), "what rank %d opened", i)
		if !assert.NotNil(f, r.Admission, "rank %d", i) {
			continue
		}
		assert.Equal(f, want.code, r.Admission.Code)
		assert.Equal(f, want.disagreement, r.Admission.Disagreement)
		assert.Equal(f, concerning(int64(i), s.probed(run.engine, want.facts)), outlines(r.Admission.Groups), "what rank %d is told", i)
	}
	assert.Less(f, time.Duration(lastReturned-lastSent), promptly, "from the last report to the last error")
	assert.Empty(f, run.allocated(), "no callback ran")
	s.verifyAnswers(f, tap, run)
	s.verifyNothingLeft(f, t, tap, run)
}

// verifyAdmitted checks that every worker allocated its region, after it opened what it must: nothing if nothing is probed.
func (s *site) verifyAdmitted(f assert.TestingT, t testing.TB, tap *hosttest.Wiretap, run *started, results []worker.Result, probed bool) {
	opened := s.opened(run.engine)
	for i, r := range results {
		assert.Equal(f, "admitted", r.Kind, "worker %d: %s", i, r.Error)
		if probed {
			assert.Equal(f, opened[i], bare(r.Opened), "what worker %d opened", i)
		} else {
			assert.Empty(f, r.Opened, "worker %d", i)
		}
	}
	assert.Len(f, run.allocated(), len(results), "every callback ran")
	if probed {
		s.verifyAnswers(f, tap, run)
	} else {
		for _, key := range run.engine.keys() {
			for _, e := range tap.Exchanges(key) {
				assert.Nil(f, e.Probe, "rank %d answers nothing", e.Rank)
			}
		}
	}
	s.verifyNothingLeft(f, t, tap, run)
}

// verifyAnswers compares what workers told the service with what they found, and that nobody says shared without a nonce.
func (s *site) verifyAnswers(f assert.TestingT, tap *hosttest.Wiretap, run *started) {
	var told [][]worker.Opened
	for _, key := range run.engine.keys() {
		replica := make([][]worker.Opened, run.engine.grid.world())
		for _, e := range tap.Exchanges(key) {
			if e.Probe == nil {
				continue
			}
			replica[e.Rank] = nil // answers that are sent again are the same answers
			for _, a := range e.Probe.Answers {
				assert.Equal(f, a.Outcome == v1.Shared, a.Nonce != "", "a nonce is told exactly with shared")
				replica[e.Rank] = append(replica[e.Rank], worker.Opened{Kind: a.Kind, Outcome: a.Outcome})
			}
		}
		told = append(told, replica...)
	}
	for i, opened := range s.opened(run.engine) {
		for j := range opened {
			opened[j].Leader = 0 // which is the service's to know
		}
		assert.Equal(f, opened, told[i], "what worker %d told", i)
	}
}

// verifyNothingLeft looks for the segments of an engine on all hosts.
func (s *site) verifyNothingLeft(f assert.TestingT, t testing.TB, tap *hosttest.Wiretap, run *started) {
	var names []string
	for _, key := range run.engine.keys() {
		for _, e := range tap.Exchanges(key) {
			if e.Report != nil && e.Report.Segment != nil && e.Report.Segment.Name != "" {
				names = append(names, e.Report.Segment.Name)
			}
		}
	}
	for _, p := range s.places {
		for _, left := range p.host.Segments(t) {
			assert.False(f, slices.Contains(names, left), "%s is left on %s", left, p.host.Name)
		}
	}
}

// bare leaves out what no model can know.
func bare(opened []worker.Opened) []worker.Opened {
	var list []worker.Opened
	for _, o := range opened {
		list = append(list, worker.Opened{Kind: o.Kind, Leader: o.Leader, Outcome: o.Outcome})
	}
	return list
}

// concerning are the groups that a rank is told of: its own, and those that speak against the engine.
func concerning(rank int64, groups []v1.ProbedGroup) []v1.ProbedGroup {
	return slices.DeleteFunc(groups, func(g v1.ProbedGroup) bool {
		return g.Outcome == v1.Shared && g.Facts != v1.NotShared && !slices.Contains(g.Ranks, rank)
	})
}

func outlines(groups []v1.ProbedGroup) []v1.ProbedGroup {
	var list []v1.ProbedGroup
	for _, g := range groups {
		list = append(list, v1.ProbedGroup{Kind: g.Kind, Ranks: g.Ranks, Outcome: g.Outcome, Facts: g.Facts})
	}
	return list
}
