package topology

import "fmt"

// coreOnFirstRank tells the executors that start the engine core on the node of the replica's first rank.
func (f *folder) coreOnFirstRank() bool {
	return f.engine.unresolved(SettingExecutor) == nil &&
		(f.engine.Executor == executorMP || f.engine.Executor == executorUni)
}

// coreNode is the index of the node where a replica's core is, or unplaced.
func (f *folder) coreNode(replica int32) int32 {
	switch {
	case f.p.core != unplaced:
		return f.p.core
	case f.coreOnFirstRank() && f.p.at != nil:
		return f.p.at[int64(replica)*f.p.Grid.Replica()]
	default:
		return unplaced
	}
}

// coreDomain is the memory domain of a replica's core, or unplaced where the core may be elsewhere.
func (f *folder) coreDomain(replica int32) int32 {
	if at := f.coreNode(replica); at != unplaced {
		return f.p.nodes.list[at].domain
	}
	return unplaced
}

// core compares each replica's core with its first rank. It is nil at registration, where the core answers for itself later,
// and where there are no ranks to compare it with.
func (f *folder) core() *CoreFact {
	if f.opts.Stage == StageRegistration || f.p.Grid.World() == 0 {
		return nil
	}
	facts := &CoreFact{Given: f.launch.Core != nil, Remote: []CoreReplica{}, Open: []CoreReplica{}}
	// Whatever is on the listed nodes is in their one domain.
	oneDomain := len(f.launch.Nodes) > 0 && f.p.nodes.domains == 1
	if oneDomain || !facts.Given && f.coreOnFirstRank() {
		facts.Local = f.p.Grid.Data
		return facts
	}
	for replica := range f.p.Grid.Data {
		at := CoreReplica{Replica: replica, FirstRank: replica * f.p.Grid.Replica()}
		at.RankNode = f.p.Node(at.FirstRank)
		if facts.Given {
			at.CoreNode = f.p.nodes.list[f.p.core].id
		}
		switch f.relateCore(&at) {
		case shared:
			facts.Local++
		case apart:
			facts.Remote = append(facts.Remote, at)
		case unknown:
			at.Missing = f.missingCore(&at)
			facts.Open = append(facts.Open, at)
		}
	}
	return facts
}

func (f *folder) relateCore(at *CoreReplica) relation {
	if at.CoreNode == "" || at.RankNode == "" {
		return unknown
	}
	return f.p.nodes.relate(f.p.core, f.p.at[at.FirstRank])
}

// missingCore says what would tell whether the core is near.
func (f *folder) missingCore(at *CoreReplica) []string {
	var missing []string
	if at.CoreNode == "" {
		missing = append(missing, "core: not given, and "+f.coreStarter())
	}
	if at.RankNode == "" {
		missing = append(missing, fmt.Sprintf("node of rank %d", at.FirstRank))
	}
	if missing != nil {
		return missing
	}
	if f.p.synthetic {
		return []string{fmt.Sprintf("nodes: not listed, so that node %s of the core may be any of them", at.CoreNode)}
	}
	for _, n := range [...]*node{&f.p.nodes.list[f.p.core], f.p.node(at.FirstRank)} {
		if absent := n.missing(); absent != "" {
			missing = append(missing, absent)
		}
	}
	return missing
}

// coreStarter says why the node of the core does not follow from the executor.
func (f *folder) coreStarter() string {
	if f.engine.unresolved(SettingExecutor) != nil {
		return "the executor, which is not known yet, decides where it starts"
	}
	return fmt.Sprintf("executor %q may start it on any node", f.engine.Executor)
}
