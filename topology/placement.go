package topology

import (
	"fmt"
	"slices"
	"strconv"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// The sources of a placement.
const (
	SourceWorkers   = "workers"
	SourceBlocks    = "mp_blocks"
	SourceDataLocal = "data_parallel_size_local"
	SourceOneHost   = "one_host"
	SourceNone      = "none"
)

// Placement is where each rank of a launch runs. Ranks are global over all replicas.
type Placement struct {
	Placed
	Grid Grid

	nodes nodes
	// at is the node index of each rank, or unplaced; nil where the placement has no source.
	at []int32
	// claims is the node index of each worker, in the order of the launch.
	claims []int32
	// core is the node index of the engine core, or unplaced where the launch does not say.
	core int32
	// synthetic tells nodes that were made up from the number of hosts that the engine needs.
	synthetic bool
	// absent and duplicate are the ranks that no worker claims, and that more than one does.
	absent, duplicate []int64
}

// NodeRanks is a node and the ranks that run there, in ascending order.
type NodeRanks struct {
	Node  string
	Ranks []int64
}

// Place finds the node of every rank, from the workers of a launch or else from what the engine's executor does. What
// cannot be known stays unknown and is named in Missing. Errors are *InputError.
func Place(launch *v1.Launch, engine *Engine) (*Placement, error) {
	p := &Placement{}
	if err := p.place(launch, engine, StageLaunch); err != nil {
		return nil, err
	}
	return p, nil
}

// Node is the id of the node of a rank, empty where it is unknown or the rank is not in the grid.
func (p *Placement) Node(rank int64) string {
	if n := p.node(rank); n != nil {
		return n.id
	}
	return ""
}

// Nodes lists every node of the launch with its ranks.
func (p *Placement) Nodes() []NodeRanks {
	list := make([]NodeRanks, len(p.nodes.list))
	for i := range list {
		list[i].Node = p.nodes.list[i].id
	}
	for rank, at := range p.at {
		if at != unplaced {
			list[at].Ranks = append(list[at].Ranks, int64(rank))
		}
	}
	return list
}

func (p *Placement) node(rank int64) *node {
	if rank < 0 || rank >= int64(len(p.at)) || p.at[rank] == unplaced {
		return nil
	}
	return &p.nodes.list[p.at[rank]]
}

func (p *Placement) place(launch *v1.Launch, engine *Engine, stage string) error {
	var err error
	if p.Grid, err = gridOf(engine, stage); err != nil {
		return err
	}
	if p.nodes, err = readNodes(launch); err != nil {
		return err
	}
	if p.core, err = p.findCore(launch); err != nil {
		return err
	}
	p.nodes.classify(stage)
	switch {
	case len(launch.Workers) > 0:
		if err = p.given(launch, engine); err != nil {
			return err
		}
	case stage == StageRegistration:
		// What the configuration says of all replicas' hosts places no rank of this one.
		p.none("workers: none reported")
	default:
		p.derive(engine)
	}
	p.assume(stage)
	return nil
}

// findCore resolves the node of a core that the launch names.
func (p *Placement) findCore(launch *v1.Launch) (int32, error) {
	switch {
	case launch.Core == nil:
		return unplaced, nil
	case len(launch.Nodes) > 0:
		return p.nodes.resolve(launch.Core.Node, "/core/node")
	case launch.Core.Node == "":
		return unplaced, emptyNodeID("/core/node")
	default:
		return p.nodes.name(launch.Core.Node), nil
	}
}

// given places the ranks that workers claim. A rank that several claim is nowhere: to believe one of them is a guess.
func (p *Placement) given(launch *v1.Launch, engine *Engine) error {
	world := p.Grid.World()
	if world == 0 {
		p.none(missingSizes(engine)...)
	} else {
		p.Source = SourceWorkers
		p.at = unplacedRanks(world)
	}
	p.claims = make([]int32, len(launch.Workers))
	for i := range launch.Workers {
		w := &launch.Workers[i]
		at := p.nodes.ids.find(w.Node)
		if at < 0 {
			_, err := p.nodes.resolve(w.Node, "/workers/"+strconv.Itoa(i)+"/node")
			return err
		}
		p.claims[i] = at
		switch {
		case w.Rank < 0 || w.Rank >= int64(len(p.at)):
		case p.at[w.Rank] != unplaced:
			p.duplicate = append(p.duplicate, w.Rank)
		default:
			p.at[w.Rank] = at
		}
	}
	p.settle()
	return nil
}

// settle takes back the ranks that were claimed twice and says which ranks are without a node.
func (p *Placement) settle() {
	if p.Source != SourceWorkers {
		return
	}
	for rank, at := range p.at {
		if at == unplaced {
			p.absent = append(p.absent, int64(rank))
		}
	}
	slices.Sort(p.duplicate)
	p.duplicate = slices.Compact(p.duplicate)
	for _, rank := range p.duplicate {
		p.at[rank] = unplaced
	}
	p.Known = len(p.absent) == 0 && len(p.duplicate) == 0
	if len(p.absent) > 0 {
		p.Missing = append(p.Missing, "workers: no worker for "+RankList(p.absent))
	}
	if len(p.duplicate) > 0 {
		p.Missing = append(p.Missing, "workers: more than one worker for "+RankList(p.duplicate))
	}
}

func unplacedRanks(world int64) []int32 {
	at := make([]int32, world)
	for rank := range at {
		at[rank] = unplaced
	}
	return at
}

// none leaves the placement open.
func (p *Placement) none(missing ...string) {
	p.Known, p.Source, p.Missing, p.at = false, SourceNone, missing, nil
}

// assume says in one sentence what the nodes were taken for without a fact that proves it.
func (p *Placement) assume(stage string) {
	if stage != StageLaunch {
		return
	}
	var ids []string
	private := false
	for i := range p.nodes.list {
		if n := &p.nodes.list[i]; n.evidence == bare || n.evidence == bareHost {
			ids = append(ids, n.id)
			private = private || n.evidence == bare
		}
	}
	switch {
	case p.synthetic && len(ids) > 1:
		p.Assumed = append(p.Assumed, fmt.Sprintf("no nodes are listed: %s stand for different hosts", idList(ids)))
	case len(ids) > 1 && private || len(ids) > 0 && p.Source == SourceWorkers:
		p.Assumed = append(p.Assumed, fmt.Sprintf("%s: without a boot_id, equal node ids are taken as one host with one /dev/shm "+
			"and different ids as different hosts", idList(ids)))
	}
}
