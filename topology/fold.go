package topology

import (
	"fmt"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// The stages at which a launch is judged.
const (
	// StageLaunch is before anything starts: what a launcher plans.
	StageLaunch = "launch"
	// StageRegistration is when the workers register their KV caches and report facts of their own processes.
	StageRegistration = "registration"
)

// FoldOptions say when and for whom a launch is folded.
type FoldOptions struct {
	// Stage is StageLaunch or StageRegistration.
	Stage string
	// Now is RFC 3339 in UTC, truncated to the minute.
	Now   string
	Needs Needs
}

// Needs are the facts that are built only for policies that declare a need for them.
type Needs struct {
	Workers bool
	DCP     bool
	DP      bool
	EP      bool
}

// Fold turns a launch and the engine resolved from it into the facts that policies see. It takes time linear in the ranks
// and the document. The facts share memory with both arguments, which must not change while the facts are in use.
// Errors are *InputError, except for a stage that does not exist.
func Fold(launch *v1.Launch, engine *Engine, opts FoldOptions) (*Facts, error) {
	if opts.Stage != StageLaunch && opts.Stage != StageRegistration {
		return nil, fmt.Errorf("stage %q: allowed are %s and %s", opts.Stage, StageLaunch, StageRegistration)
	}
	f := &folder{launch: launch, engine: engine, opts: opts, p: &Placement{}}
	if err := f.p.place(launch, engine, opts.Stage); err != nil {
		return nil, err
	}
	return f.fold(), nil
}

// folder is one launch on its way to facts.
type folder struct {
	launch *v1.Launch
	engine *Engine
	opts   FoldOptions
	p      *Placement
}

func (f *folder) fold() *Facts {
	facts := &Facts{
		Now:            f.opts.Now,
		Stage:          f.opts.Stage,
		Engine:         engineFacts(f.engine, f.p.Grid),
		Transfer:       transferred(f.engine),
		Placement:      f.p.Placed,
		Ranks:          f.ranks(),
		Domains:        f.p.domains(),
		Core:           f.core(),
		Versions:       f.versions(),
		Configurations: f.configurations(),
	}
	if f.p.at != nil {
		s := newSurvey(f.p)
		shares := s.shares()
		facts.Groups = f.groups(s)
		facts.Replicas = s.replicas(shares)
		f.p.load(facts.Domains, shares, f.region(), f.coreDomain)
	}
	if f.opts.Needs.Workers {
		facts.Workers = f.workers()
	}
	return facts
}

// groups surveys the kinds that every policy may read and those that this one needs.
func (f *folder) groups(s *survey) *Groups {
	grid, needs := f.p.Grid, f.opts.Needs
	groups := &Groups{
		TP:  s.kind(grid.Lines(TP)),
		PP:  s.kind(grid.Lines(PP)),
		PCP: s.kind(grid.Lines(PCP)),
	}
	if needs.DCP && f.engine.unresolved(SettingDecodeContext) == nil {
		groups.DCP = s.kind(grid.DecodeLines(f.engine.DecodeContext, DecodePrefillFastest))
	}
	if needs.DP {
		groups.DP = s.kind(grid.Lines(DP))
	}
	if needs.EP {
		groups.EP = s.kind(grid.Lines(EP))
	}
	return groups
}

// region is the size of a replica's region files, 0 where there are none or the transfer configuration is not known.
func (f *folder) region() int64 {
	if f.engine.unresolved(SettingTransfer) != nil {
		return 0
	}
	return regionBytes(&f.engine.Transfer)
}

// workers lists the declared workers for rules that ask for them.
func (f *folder) workers() []WorkerFact {
	list := make([]WorkerFact, len(f.launch.Workers))
	for i := range list {
		w := &f.launch.Workers[i]
		domain := f.p.nodes.list[f.p.claims[i]].domain
		list[i] = WorkerFact{Rank: w.Rank, Node: w.Node, Domain: int64(domain), Version: w.Version}
	}
	return list
}
