package environ

import "fmt"

// launched is what one launcher says of a process.
type launched struct{ rank, world, localRank, localWorld Number }

// launched reads the variables of a launcher and drops indexes that are not below their counts.
func (r *reader) launched(rank, world, localRank, localWorld string) launched {
	l := launched{
		r.number(Rank, rank, 0), r.number(WorldSize, world, 1),
		r.number(LocalRank, localRank, 0), r.number(LocalWorldSize, localWorld, 1),
	}
	r.check(&l)
	return l
}

func (r *reader) check(l *launched) {
	r.below(Rank, &l.rank, l.world)
	r.below(LocalRank, &l.localRank, l.localWorld)
	if l.localWorld.Known() && l.world.Known() && l.localWorld.Value > l.world.Value {
		r.unreadable(LocalWorldSize, l.localWorld.Source,
			fmt.Sprintf("a node has 1 to %d processes where %s is %d", l.world.Value, l.world.Source, l.world.Value))
		l.localWorld = Number{}
	}
}

// processes compares what launchers say of this process, in the order of precedence.
func (r *reader) processes(slurm *step) {
	all := []launched{
		r.launched("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
		r.launched("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
		r.launched("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
	}
	if slurm != nil {
		all = append(all, slurm.launched)
	}
	all, agents := r.split(all)
	e := r.into
	for _, l := range all {
		e.launchedWorld = r.agree(WorldSize, e.launchedWorld, l.world)
		e.Rank = r.agree(Rank, e.Rank, l.rank)
		e.LocalRank = r.agree(LocalRank, e.LocalRank, l.localRank)
		e.LocalWorldSize = r.agree(LocalWorldSize, e.LocalWorldSize, l.localWorld)
	}
	if !e.WorldSize.Known() {
		e.WorldSize = e.launchedWorld
	}
	if !e.Rank.Known() {
		// PMIx says no size, so that nobody can tell whether its rank counts the same processes as another launcher's.
		e.Rank = r.number(Rank, "PMIX_RANK", 0)
	}
	r.below(Rank, &e.Rank, e.launchedWorld)
	r.nodes(slurm, agents)
}

// split tells launchers of the engine's processes from those that started one process on each node, which then started
// a launcher of its own: srun --ntasks-per-node=1 torchrun ... The latter count nodes.
func (r *reader) split(all []launched) (processes, agents []launched) {
	var world Number
	for _, l := range all {
		if world.Known() && l.world.Known() && l.world.Value != world.Value && l.localWorld.Value == 1 {
			agents = append(agents, l)
			continue
		}
		if !world.Known() {
			world = l.world
		}
		processes = append(processes, l)
	}
	return processes, agents
}

// nodes compares what launchers say of nodes, in the order of precedence.
func (r *reader) nodes(slurm *step, agents []launched) {
	e := r.into
	e.Nodes = r.number(Nodes, "GROUP_WORLD_SIZE", 1)
	e.NodeRank = r.number(NodeRank, "NODE_RANK", 0)
	for _, l := range agents {
		e.Nodes = r.agree(Nodes, e.Nodes, l.world)
		e.NodeRank = r.agree(NodeRank, e.NodeRank, l.rank)
	}
	if slurm != nil {
		e.Nodes = r.agree(Nodes, e.Nodes, slurm.nodes)
		e.NodeRank = r.agree(NodeRank, e.NodeRank, slurm.nodeRank)
	}
	for _, pods := range [][2]string{
		{"LWS_GROUP_SIZE", "LWS_WORKER_INDEX"},
		{"SKYPILOT_NUM_NODES", "SKYPILOT_NODE_RANK"},
	} {
		e.Nodes = r.agree(Nodes, e.Nodes, r.number(Nodes, pods[0], 1))
		e.NodeRank = r.agree(NodeRank, e.NodeRank, r.number(NodeRank, pods[1], 0))
	}
	if !e.NodeRank.Known() {
		// Compared with nothing: torchrun's agents number themselves as they meet, unless they are told their number.
		e.NodeRank = r.number(NodeRank, "GROUP_RANK", 0)
	}
	r.below(NodeRank, &e.NodeRank, e.Nodes)
}
