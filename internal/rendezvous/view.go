package rendezvous

import (
	"cmp"
	"slices"
	"sort"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
)

// Engines lists a tenant's engines by name.
func (s *Service) Engines(tenant string) v1.Engines {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []v1.EngineSummary{}
	for k, eng := range s.engines {
		if k.Tenant == tenant {
			list = append(list, eng.last().summary())
		}
	}
	slices.SortFunc(list, func(a, b v1.EngineSummary) int { return cmp.Compare(a.Engine, b.Engine) })
	return v1.Engines{Engines: list}
}

// Engine shows an engine with the attempts that are remembered, the last first.
func (s *Service) Engine(key Key) (*v1.EngineView, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	eng := s.engines[key]
	if eng == nil {
		return nil, unknownEngine(key)
	}
	view := &v1.EngineView{Engine: key.Engine}
	for _, a := range slices.Backward(eng.attempts) {
		one, err := a.view()
		if err != nil {
			return nil, err
		}
		view.Attempts = append(view.Attempts, *one)
	}
	return view, nil
}

// Attempt shows one attempt.
func (s *Service) Attempt(key Key, n int64) (*v1.AttemptView, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	eng := s.engines[key]
	if eng == nil {
		return nil, unknownEngine(key)
	}
	a := eng.find(n)
	if a == nil {
		return nil, gone(key, n)
	}
	return a.view()
}

func unknownEngine(key Key) error {
	return &Error{Code: v1.CodeUnknownEngine, Detail: "no attempt of engine " + key.Engine + " is remembered; " +
		"its workers have not reported, reported to another service or under another id, or it was too long ago"}
}

func (a *attempt) summary() v1.EngineSummary {
	out := v1.EngineSummary{
		Engine: a.key.Engine, Attempt: a.n, AttemptID: a.spec.ID, Phase: a.phase(), Opened: a.opened,
		WorldSize: a.spec.World, Reported: int64(len(a.members)),
	}
	if a.end != nil {
		out.Outcome, out.Message, out.Reported = a.end.outcome, a.end.headline, a.end.reported
	}
	return out
}

func (a *attempt) view() (*v1.AttemptView, error) {
	out := &v1.AttemptView{
		Engine: a.key.Engine, Attempt: a.n, AttemptID: a.spec.ID, Phase: a.phase(), Opened: a.opened,
		RemainingMS: a.remaining().Milliseconds(), WorldSize: a.spec.World, OpenedBy: a.spec.By,
	}
	if a.verdict != nil {
		var err error
		if out.Verdict, err = a.verdict.read(); err != nil {
			return nil, err
		}
	}
	if a.core != nil {
		out.Core = &a.core.Admission
	}
	if a.end != nil {
		record, err := a.end.read()
		if err != nil {
			return nil, err
		}
		end, ended := record.AttemptEnd, a.end.time
		out.End, out.Ended, out.Admission = &end, &ended, record.Admission
		out.Ranks, out.Missing, out.Parallel, out.DataParallelRank = record.Views, record.Missing, record.Parallel, record.DPRank
		return out, nil
	}
	out.Ranks, out.Missing = a.rankViews(), a.missing()
	if a.verdict != nil {
		out.Unanswered = a.unanswered()
	}
	for _, m := range a.sorted()[:min(1, len(a.members))] {
		out.Parallel, out.DataParallelRank = m.report.Configuration.Parallel, m.report.DataParallelRank
	}
	return out, nil
}

// rankViews shows the ranks that reported. It needs the lock.
func (a *attempt) rankViews() []v1.RankView {
	members := a.sorted()
	domains := admission.Domains(a.ranked())
	views := make([]v1.RankView, len(members))
	for i, m := range members {
		facts := &m.report.Facts
		views[i] = v1.RankView{
			Rank: m.rank, Incarnation: m.report.Incarnation, Node: admission.NodeName(m.report), Pod: facts.Pod, BootID: facts.BootID,
			Version: m.report.Configuration.Version, Reported: m.reported, Domain: domains[i], Probe: m.outcomes,
		}
		if facts.Shm != nil {
			views[i].ShmDevice = facts.Shm.Device
		}
	}
	return views
}

// bound finds the entry of a rank.
func (r *endRecord) bound(rank int64) *boundRank {
	i := sort.Search(len(r.Bound), func(i int) bool { return r.Bound[i].Rank >= rank })
	if i == len(r.Bound) || r.Bound[i].Rank != rank {
		return nil
	}
	return &r.Bound[i]
}

// Changed is closed at the next change of an engine; with an empty engine, of any of the tenant's.
func (s *Service) Changed(key Key) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed[key] == nil {
		s.changed[key] = make(chan struct{})
	}
	return s.changed[key]
}

// signal wakes those who watch an engine. It needs the lock.
func (s *Service) signal(key Key) {
	for _, k := range [...]Key{key, {Tenant: key.Tenant}} {
		if c := s.changed[k]; c != nil {
			close(c)
			delete(s.changed, k)
		}
	}
}

// Load counts open attempts and waiting calls.
func (s *Service) Load() (open, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, eng := range s.engines {
		if eng.last().open() {
			open++
		}
	}
	return open, s.waiting
}
