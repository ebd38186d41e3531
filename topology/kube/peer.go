package kube

import (
	"fmt"
	"reflect"
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// peers are the pods of an engine, which must start it alike.
type peers struct {
	reader *reader
	group  *group
	leader *start
	// byNode holds what each node of the launch starts; nil where nothing is known of it.
	byNode []*peer
}

// peer is what a pod starts for the engine.
type peer struct {
	container *container
	version   string
	// config is nil where the pod starts no engine of its own, or one whose configuration is not all known.
	config *v1.Configuration
}

// node describes the next pod of the engine and remembers what it starts. Of nil nothing is known.
func (p *peers) node(pod *pod, leads bool) (v1.Node, error) {
	if pod == nil {
		p.byNode = append(p.byNode, nil)
		return v1.Node{ID: fmt.Sprintf("%s-peer-%d", p.leader.engine.ID, len(p.byNode)-1)}, nil
	}
	other := p.leader.peer()
	if !leads {
		var err error
		if other, err = p.look(pod); err != nil {
			return v1.Node{}, err
		}
	}
	p.byNode = append(p.byNode, other)
	return pod.node(other.container), nil
}

// look finds the container of a pod that works for the engine: the one that starts it too, or one that joins it in
// another way, e.g. through Ray.
func (p *peers) look(pod *pod) (*peer, error) {
	starts, known := p.group.joined[pod.podTemplate]
	if !known {
		var err error
		if starts, err = p.reader.starts(pod); err != nil {
			return nil, err
		}
		p.group.joined[pod.podTemplate] = starts
	}
	if len(starts) == 0 {
		c := pod.Spec.working()
		return &peer{container: c, version: engineVersion(c.Image)}, nil
	}
	same := slices.IndexFunc(starts, func(s start) bool { return s.container.Name == p.leader.container.Name })
	return starts[max(same, 0)].peer(), nil
}

func (s *start) peer() *peer {
	return &peer{container: s.container, version: s.engine.Version, config: configuration(s.resolved)}
}

// place lists the workers with what they run, but only where they do not all run the same: else there is nothing to
// compare, and the placement follows from the configuration.
func (p *peers) place(launch *v1.Launch) {
	configs, versions := p.differ()
	if !configs && !versions {
		return
	}
	placement, err := topology.Place(launch, p.leader.resolved)
	if err != nil || !placement.Known {
		return
	}
	for i, node := range placement.Nodes() {
		for _, rank := range node.Ranks {
			worker := v1.Worker{Rank: rank, Node: node.Node}
			if other := p.byNode[i]; other != nil && configs {
				worker.Config = other.config
			}
			if other := p.byNode[i]; other != nil && versions {
				worker.Version = other.version
			}
			launch.Workers = append(launch.Workers, worker)
		}
	}
	slices.SortFunc(launch.Workers, func(a, b v1.Worker) int { return int(a.Rank - b.Rank) })
}

// differ tells whether two pods are known to run different configurations, and different versions.
func (p *peers) differ() (configs, versions bool) {
	var config *v1.Configuration
	version := ""
	for _, other := range p.byNode {
		if other == nil {
			continue
		}
		configs = configs || config != nil && other.config != nil && !reflect.DeepEqual(config, other.config)
		versions = versions || version != "" && other.version != "" && version != other.version
		if config == nil {
			config = other.config
		}
		if version == "" {
			version = other.version
		}
	}
	return configs, versions
}

// rankSettings are those that rightly differ between the pods of an engine.
var rankSettings = []string{topology.SettingNodeRank, topology.SettingDataRank, topology.SettingDataStartRank}

// configuration is what the workers of an engine must agree on, nil where a part of it is not known.
func configuration(e *topology.Engine) *v1.Configuration {
	for _, u := range e.Unresolved {
		if !slices.Contains(rankSettings, u.Setting) {
			return nil
		}
	}
	config := &v1.Configuration{
		Parallel: &v1.Parallel{
			Tensor: &e.Tensor, Pipeline: &e.Pipeline, Data: &e.Data,
			PrefillContext: &e.PrefillContext, DecodeContext: &e.DecodeContext,
		},
		Executor: e.Executor,
		Nnodes:   &e.Nnodes,
	}
	if len(e.Transfer.Connectors) > 0 {
		config.KVTransfer = e.Transfer.Connectors[0].Config
	}
	return config
}
