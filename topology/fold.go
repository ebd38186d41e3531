package topology

import (
	"fmt"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// The stages at which a launch is judged.
const (
	// StageLaunch is before anything starts: what a launcher plans.
	StageLaunch = "launch"
	// StageRegistration is when the workers of one replica register their KV caches and report facts of their own processes.
	// Ranks are those within the replica, whatever number of replicas the configuration has.
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
	f := &folder{launch: launch, engine: engine, opts: opts}
	if err := f.p.place(launch, engine, opts.Stage); err != nil {
		return nil, err
	}
	f.fold()
	return &f.facts, nil
}

// folder is one launch on its way to facts. The parts that facts point to are fields, so that they come in one allocation.
type folder struct {
	launch *v1.Launch
	engine *Engine
	opts   FoldOptions
	p      Placement
	survey survey

	facts  Facts
	groups Groups
	kinds  [len(probedKinds)]GroupKind
}

func (f *folder) fold() {
	f.facts = Facts{
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
		f.survey.start(&f.p)
		shares := f.survey.shares()
		f.facts.Groups = f.surveyGroups()
		f.facts.Replicas = f.survey.replicas(shares)
		f.p.load(f.facts.Domains, shares, f.region(), f.coreDomain)
	}
	if f.opts.Needs.Workers {
		f.facts.Workers = f.workers()
	}
}

// surveyGroups surveys the kinds that every policy may read and those that this one needs.
func (f *folder) surveyGroups() *Groups {
	grid, needs := f.p.Grid, f.opts.Needs
	for i, kind := range probedKinds {
		f.survey.kind(&f.kinds[i], grid.Lines(kind))
	}
	f.groups.TP, f.groups.PP, f.groups.PCP = &f.kinds[0], &f.kinds[1], &f.kinds[2]
	if needs.DCP && f.engine.unresolved(SettingDecodeContext) == nil {
		f.groups.DCP = f.extra(grid.DecodeLines(f.engine.DecodeContext, DecodePrefillFastest))
	}
	// DP and EP groups have ranks in every replica: of one replica alone they cannot be told.
	if needs.DP && grid.Data == f.engine.Data {
		f.groups.DP = f.extra(grid.Lines(DP))
	}
	if needs.EP && grid.Data == f.engine.Data {
		f.groups.EP = f.extra(grid.Lines(EP))
	}
	return &f.groups
}

// extra surveys a kind that few policies read; it is nil where the kind has no groups.
func (f *folder) extra(lines Lines) *GroupKind {
	if lines.Count == 0 {
		return nil
	}
	facts := &GroupKind{}
	f.survey.kind(facts, lines)
	return facts
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
