package kube

import (
	"iter"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// maxPods bounds the pods that all engines of a file are listed with, as a size of a few digits could ask for any
// number.
const maxPods = topology.MaxRanks

// run is a number of pods that one template makes.
type run struct {
	template *podTemplate
	count    int64
}

// group is the pods that one controller makes, in their order.
type group struct {
	// id becomes the id of its engines.
	id   string
	runs []run
	// together tells pods that were made to run one engine from replicas, each of which may run its own.
	together bool
	// dress makes the pod of a run; within counts in the run, index in the group.
	dress func(run int, within, index int64) *pod

	size int64
	// joined holds what the pods of a template start, so that this is found out once for all engines of the group.
	joined map[*podTemplate][]start
}

func newGroup(id string, runs []run, dress func(run int, within, index int64) *pod) *group {
	g := &group{id: id, runs: runs, dress: dress, joined: map[*podTemplate][]start{}}
	for _, run := range runs {
		g.size += run.count
	}
	return g
}

// pods yields count pods from an index on. Outside the group they are nil: an engine may take pods of other objects
// too.
func (g *group) pods(first, count int64) iter.Seq[*pod] {
	return func(yield func(*pod) bool) {
		index, end := first, first+count
		for ; index < min(end, 0); index++ {
			if !yield(nil) {
				return
			}
		}
		start := int64(0)
		for i, run := range g.runs {
			for ; index < min(end, start+run.count); index++ {
				if !yield(g.dress(i, index-start, index)) {
					return
				}
			}
			start += run.count
		}
		for ; index < end; index++ {
			if !yield(nil) {
				return
			}
		}
	}
}

// group reads the engines of a group. Each template may lead one: the pods that the engines before it take are not its
// own.
func (r *reader) group(g *group) error {
	taken, index := int64(0), int64(0)
	for i, run := range g.runs {
		fresh := i == 0 || run.template != g.runs[i-1].template
		if fresh && run.count > 0 && index >= taken {
			end, err := r.lead(g, g.dress(i, 0, index), index)
			if err != nil {
				return err
			}
			taken = max(taken, end)
		}
		index += run.count
	}
	return nil
}

// lead reads the engines that a pod starts and returns the index behind the pods that they take.
func (r *reader) lead(g *group, leader *pod, index int64) (end int64, err error) {
	starts, err := r.starts(leader)
	if err != nil {
		return 0, err
	}
	for i := range starts {
		taken, err := r.add(g, &starts[i], leader, index)
		if err != nil {
			return 0, err
		}
		end = max(end, taken)
	}
	return end, nil
}

// add makes the launch of an engine and returns the index behind the pods that it takes.
func (r *reader) add(g *group, s *start, leader *pod, index int64) (end int64, err error) {
	s.engine.ID = g.id
	hosts := s.hosts(leader, g)
	launch, err := r.launch(g, s, index, hosts)
	if err != nil {
		return 0, err
	}
	r.engines = append(r.engines, Engine{Source: r.object + ", " + s.where, Launch: launch})
	if hosts == 0 {
		return g.size, nil
	}
	return index + hosts, nil
}

// hosts is how many pods the engine takes, 0 where its configuration does not tell. Among pods that were made to run
// one engine, the executor is known only if it is given or follows from the GPUs: Ray would use the other pods too.
func (s *start) hosts(leader *pod, g *group) int64 {
	placement, err := topology.Place(&v1.Launch{Engine: s.engine}, s.resolved)
	if err != nil || !placement.Known {
		return 0
	}
	hosts := int64(len(placement.Nodes()))
	chosen := s.resolved.ExecutorGiven || leader.node(s.container).GPUs != nil || placement.Grid.World() == 1
	if hosts == 1 && g.together && g.size > 1 && !chosen {
		return 0
	}
	return hosts
}

// launch lists the pods of an engine. Where their number is not known these are all of the group, or one replica. Where
// a group that was made for the engine has too few, the launch says so by listing too few.
func (r *reader) launch(g *group, s *start, index, hosts int64) (*v1.Launch, error) {
	launch := &v1.Launch{Engine: s.engine}
	first, count := index, hosts
	switch {
	case hosts == 0 && g.together:
		first, count = 0, g.size
	case hosts == 0:
		count = 1
	case g.together:
		count = min(hosts, g.size-index)
	case g.size == 1:
		// The only pod of its object says itself which node of the engine it is; the others are not in this object.
		first = -min(max(s.resolved.NodeRank, 0), hosts-1)
	}
	if r.pods += count; r.pods > maxPods {
		return nil, r.fail(CodeTooManyPods, nil, "the engines of the file take more than %d pods; check the sizes", maxPods)
	}
	peers := &peers{reader: r, group: g, leader: s, byNode: make([]*peer, 0, count)}
	launch.Nodes = make([]v1.Node, 0, count)
	at := first
	for pod := range g.pods(first, count) {
		node, err := peers.node(pod, at == index)
		if err != nil {
			return nil, err
		}
		launch.Nodes = append(launch.Nodes, node)
		at++
	}
	if hosts > 1 {
		peers.place(launch)
	}
	return launch, nil
}
