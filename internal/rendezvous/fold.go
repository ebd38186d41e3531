package rendezvous

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
)

// fold applies one entry of the journal. It is a function of the entries before it and nothing else, so that all processes
// come to the same state; only what a process then does depends on who it is.
func (s *Service) fold(e Entry) {
	k, ok := parseKey(e.Key)
	if !ok {
		s.opts.Logger.Warn("record of an unknown kind", "key", e.Key)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Deleted {
		if k.kind == recordSpec {
			s.forget(k)
		}
		return
	}
	local := s.arrived(e.Key)
	a := s.engines[k.Key].find(k.attempt)
	switch {
	case a == nil && k.kind == recordSpec:
		a = s.foldSpec(k, e)
	case a == nil, k.kind == recordSpec, k.id != a.spec.ID, a.end != nil && k.kind != recordCore:
		// It is of an attempt that was forgotten, or lost the race against the end and so never happened.
		return
	default:
		if err := s.foldRecord(a, k, e, local); err != nil {
			s.opts.Logger.Error("record cannot be read", "key", e.Key, "error", err)
			return
		}
	}
	s.signal(k.Key)
	if s.ready && a != nil {
		s.act(a, local)
	}
}

// foldSpec opens an attempt, unless a later one is there already: a process that has not noticed yet that the journal is a new
// one may have written that, and only the last attempt can be open.
func (s *Service) foldSpec(k recordKey, e Entry) *attempt {
	if last := s.engines[k.Key].last(); last != nil && last.n > k.attempt {
		return nil
	}
	var spec specRecord
	if err := json.Unmarshal(e.Value, &spec); err != nil {
		s.opts.Logger.Error("record cannot be read", "key", e.Key, "error", err)
		return nil
	}
	a := newAttempt(k.Key, k.attempt, spec, e.Time)
	s.startPhase(a, spec.report(), e.Time)
	eng := s.engines[k.Key]
	if eng == nil {
		eng = &engine{}
		s.engines[k.Key] = eng
	}
	eng.attempts = append(eng.attempts, a)
	return a
}

func (s *Service) foldRecord(a *attempt, k recordKey, e Entry, local bool) error {
	switch k.kind {
	case recordReport:
		return foldReport(a, k.rank, e, local)
	case recordVerdict:
		return s.foldVerdict(a, e)
	case recordAnswers:
		return foldAnswers(a, e)
	case recordRival:
		return s.foldRival(a, k.rank, e)
	case recordEnd:
		return s.foldEnd(a, e)
	case recordCore:
		core := new(coreRecord)
		if err := json.Unmarshal(e.Value, core); err != nil {
			return err
		}
		a.core = core
	}
	return nil
}

// foldReport takes a rank in. After the verdict it is too late: the verdict is about those before it.
func foldReport(a *attempt, rank int64, e Entry, local bool) error {
	if a.verdict != nil || a.members[rank] != nil {
		return nil
	}
	report := new(v1.Report)
	if err := json.Unmarshal(e.Value, report); err != nil {
		return err
	}
	digest, err := report.Configuration.Digest()
	if err != nil {
		return err
	}
	m := &member{rank: rank, report: report, reported: e.Time, digest: digest}
	if local {
		m.presence.left = time.Now() // its call is about to wait for the verdict
	}
	a.members[rank], a.last = m, time.Now()
	a.smallest = min(a.smallest, report.WorldSize)
	return nil
}

func (s *Service) foldVerdict(a *attempt, e Entry) error {
	var record verdictRecord
	if err := json.Unmarshal(e.Value, &record); err != nil {
		return err
	}
	verdict := new(v1.Verdict)
	if err := json.Unmarshal(record.Verdict, verdict); err != nil {
		return err
	}
	state := &verdictState{raw: record.Verdict, verdict: verdict, told: toldVerdict(verdict), groups: map[groupKey]*v1.Group{}}
	for i := range verdict.Probe {
		g := &verdict.Probe[i]
		for _, rank := range g.Ranks {
			state.groups[groupKey{g.Kind, rank}] = g
		}
	}
	if len(verdict.Probe) > 0 {
		state.unanswered = len(a.members)
	}
	a.verdict = state
	s.startPhase(a, a.spec.probe(), e.Time)
	close(a.decided)
	return nil
}

// foldAnswers takes what ranks found; of a rank that answered twice, the first counts.
func foldAnswers(a *attempt, e Entry) error {
	var record answersRecord
	if err := json.Unmarshal(e.Value, &record); err != nil {
		return err
	}
	for _, answer := range record.Answers {
		m := a.members[answer.Rank]
		if a.verdict == nil || m == nil || m.outcomes != nil || m.report.Incarnation != answer.Incarnation {
			continue
		}
		m.outcomes = append([]v1.RankProbe{}, answer.Outcomes...)
		a.verdict.unanswered--
	}
	return nil
}

func (s *Service) foldEnd(a *attempt, e Entry) error {
	record := new(endRecord)
	if err := json.Unmarshal(e.Value, record); err != nil {
		return err
	}
	a.end = &endState{record: record, raw: e.Value, time: e.Time, outcome: record.Kind, reported: int64(len(record.Views))}
	a.end.headline, _, _ = strings.Cut(record.Message, "\n")
	if record.Admission != nil {
		a.end.outcome = record.Admission.Outcome
	}
	s.after(cooling, func(context.Context) {
		s.mu.Lock()
		defer s.mu.Unlock()
		a.cool()
	})
	if a.timer != nil {
		a.timer.Stop()
	}
	if a.verdict == nil {
		close(a.decided)
	}
	close(a.ended)
	a.members = nil
	if a.verdict != nil {
		a.verdict.groups = nil
	}
	return nil
}

// segmentsOf are the leaders' segments that a rank must open.
func (a *attempt) segmentsOf(rank int64) []v1.OpenSegment {
	return admission.Segments(a.groupsOf(rank), a.reportOf, rank)
}

// groupsOf are the probed groups of a rank, TP before PP before PCP.
func (a *attempt) groupsOf(rank int64) []v1.Group {
	var groups []v1.Group
	for _, kind := range [...]string{"tp", "pp", "pcp"} {
		if g := a.verdict.groups[groupKey{kind, rank}]; g != nil {
			groups = append(groups, *g)
		}
	}
	return groups
}

func (a *attempt) reportOf(rank int64) *v1.Report {
	if m := a.members[rank]; m != nil {
		return m.report
	}
	return nil
}
