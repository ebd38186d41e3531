package topology

import (
	"fmt"
	"strconv"
)

// The executors whose placement is told by the configuration or known not to be.
const (
	executorMP  = "mp"
	executorUni = "uni"
)

// split is how the replicas are cut over hosts: local whole replicas share the same within hosts, each of which runs one
// of within equal blocks of consecutive ranks of each of them.
type split struct {
	local, within int64
	source        string
}

// hosts is the number of hosts of a launch with this many replicas.
func (s split) hosts(data int64) int64 { return data / s.local * s.within }

// derive places the ranks of a launch without workers, as vLLM's ParallelConfig does.
func (p *Placement) derive(engine *Engine) {
	if missing := undecided(engine); missing != nil {
		p.none(missing...)
		return
	}
	s, missing := divide(engine, p.Grid)
	if missing != "" {
		p.none(missing)
		return
	}
	if missing = p.take(s.hosts(p.Grid.Data)); missing != "" {
		p.none(missing)
		return
	}
	p.Known, p.Source = true, s.source
	p.at = make([]int32, p.Grid.World())
	replica := p.Grid.Replica()
	block := replica / s.within
	for d := range p.Grid.Data {
		for rank := range replica {
			p.at[d*replica+rank] = int32(d/s.local*s.within + rank/block)
		}
	}
}

// undecided lists why the configuration does not tell where ranks run, or nil.
func undecided(engine *Engine) []string {
	missing := missingSizes(engine)
	switch {
	case engine.unresolved(SettingExecutor) != nil:
		return append(missing, unresolvedSetting(engine, SettingExecutor))
	case engine.Executor != executorMP && engine.Executor != executorUni:
		return append(missing, fmt.Sprintf("workers: executor %q decides at run time where ranks go; list each rank with its node",
			engine.Executor))
	case engine.DataBackend == "ray" && engine.Data != 1:
		return append(missing, "workers: the ray data-parallel backend decides at run time where replicas go; "+
			"list each rank with its node")
	}
	for _, setting := range [...]string{SettingNnodes, SettingDataLocal} {
		if engine.unresolved(setting) != nil {
			missing = append(missing, unresolvedSetting(engine, setting))
		}
	}
	return missing
}

// missingSizes lists the sizes without which there is no grid, or nil.
func missingSizes(engine *Engine) []string {
	var missing []string
	for _, size := range [...]struct {
		setting string
		value   int64
	}{
		{SettingTensor, engine.Tensor},
		{SettingPrefillContext, engine.PrefillContext},
		{SettingPipeline, engine.Pipeline},
		{SettingData, engine.Data},
	} {
		switch {
		case engine.unresolved(size.setting) != nil:
			missing = append(missing, unresolvedSetting(engine, size.setting))
		case size.value < 1:
			missing = append(missing, fmt.Sprintf("%s: %d is below 1", size.setting, size.value))
		}
	}
	return missing
}

func unresolvedSetting(engine *Engine, setting string) string {
	u := engine.unresolved(setting)
	return u.Setting + ": " + u.Reason
}

// divide cuts the replicas over hosts, or says which division leaves a rest. vLLM itself divides with floor in places; what
// it then does is a refusal or a layout that nobody asked for, so that nothing is placed.
func divide(engine *Engine, grid Grid) (split, string) {
	s := split{local: dataLocal(engine, grid), within: 1, source: SourceDataLocal}
	if engine.Nnodes < 1 {
		return s, fmt.Sprintf("%s: %d is below 1", SettingNnodes, engine.Nnodes)
	}
	if s.local < 1 {
		return s, fmt.Sprintf("%s: %d leaves open how many replicas each host runs", SettingDataLocal, s.local)
	}
	if grid.Data%s.local != 0 {
		return s, fmt.Sprintf("%s: %d does not divide the %d replicas", SettingDataLocal, s.local, grid.Data)
	}
	groups := grid.Data / s.local
	if engine.Nnodes == 1 {
		if groups == 1 {
			s.source = SourceOneHost
		}
		return s, ""
	}
	s.source = SourceBlocks
	if engine.Nnodes%groups != 0 {
		return s, fmt.Sprintf("%s: %d nodes do not divide into %d groups of %d replicas", SettingNnodes, engine.Nnodes, groups,
			s.local)
	}
	s.within = engine.Nnodes / groups
	if grid.Replica()%s.within != 0 {
		return s, fmt.Sprintf("%s: the %d ranks of a replica do not divide over %d nodes", SettingNnodes, grid.Replica(), s.within)
	}
	return s, ""
}

// dataLocal is data_parallel_size_local with vLLM's default: 1 with an external load balancer, which a replica's own rank
// implies; with nnodes, as many whole replicas as fit on a node; else all.
func dataLocal(engine *Engine, grid Grid) int64 {
	switch {
	case engine.DataLocal != nil:
		return *engine.DataLocal
	case engine.ExternalLB, engine.DataRank != nil, engine.unresolved(SettingDataRank) != nil:
		return 1
	case engine.Nnodes > 1:
		return max(grid.World()/engine.Nnodes/grid.Replica(), 1)
	default:
		return grid.Data
	}
}

// take makes the first nodes of the list the hosts that the engine needs, or says why it cannot. One host may be listed as
// several containers that share its memory.
func (p *Placement) take(needed int64) string {
	listed := int64(len(p.nodes.list))
	switch {
	case listed == 0 || p.nodes.list[0].facts == nil:
		p.synthesize(needed)
	case listed != needed && (needed != 1 || p.nodes.domains != 1):
		return fmt.Sprintf("nodes: %d listed, %d needed", listed, needed)
	}
	return ""
}

// synthesize makes up nodes where the launch lists none. A core that the launch names may be on any of them under its real
// name, so that nothing is known of its memory.
func (p *Placement) synthesize(hosts int64) {
	named := p.nodes
	p.synthetic = true
	p.nodes = nodes{list: make([]node, 0, hosts+1), ids: newInterner(int(hosts) + 1)}
	for host := range hosts {
		p.nodes.name("node-" + strconv.FormatInt(host, 10))
	}
	if p.core != unplaced {
		p.core = p.nodes.name(named.list[p.core].id)
	}
	p.nodes.classify(StageLaunch)
	if int64(p.core) >= hosts {
		p.nodes.list[p.core].evidence = opaque
	}
}
