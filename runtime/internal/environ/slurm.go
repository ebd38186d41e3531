package environ

import (
	"regexp"
	"strconv"
	"strings"
)

// step is what Slurm says of a task of a job step.
type step struct {
	launched
	nodeRank, nodes Number
	// key names the step in its cluster.
	key string
}

// maxStep is the highest number of a step that srun starts. Those above are batch scripts, interactive shells and the like:
// one process that stands for no task, although Slurm numbers it as task 0.
const maxStep = 0xfffffff0

// slurm is nil outside of a step. What is said of the step goes before what is said of the job, which may be larger.
func (r *reader) slurm() *step {
	job, number := r.values["SLURM_JOB_ID"], r.values["SLURM_STEP_ID"]
	if n, err := strconv.ParseUint(number, 10, 32); err != nil || n >= maxStep {
		return nil
	}
	s := &step{
		launched: launched{
			rank:      r.number(Rank, "SLURM_PROCID", 0),
			world:     r.either(WorldSize, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", 1),
			localRank: r.number(LocalRank, "SLURM_LOCALID", 0),
		},
		nodeRank: r.number(NodeRank, "SLURM_NODEID", 0),
		nodes:    r.either(Nodes, "SLURM_STEP_NUM_NODES", "SLURM_NNODES", 1),
	}
	if job != "" {
		s.key = "slurm-" + job + "." + number
	}
	s.localWorld = r.tasksHere(s.nodeRank)
	r.check(&s.launched)
	return s
}

// tasksHere reads how many tasks run on a node from a list such as 4(x2),3: twice 4, then 3.
func (r *reader) tasksHere(node Number) Number {
	name := "SLURM_STEP_TASKS_PER_NODE"
	if r.values[name] == "" {
		name = "SLURM_TASKS_PER_NODE"
	}
	if r.values[name] == "" || !node.Known() {
		return Number{}
	}
	left := node.Value
	for part := range strings.SplitSeq(r.values[name], ",") {
		tasks, times, ok := tasksPerNode(part)
		if !ok {
			r.unreadable(LocalWorldSize, name, "it is a list of counts such as 4(x2),3")
			return Number{}
		}
		if left -= times; left < 0 {
			return Number{tasks, name}
		}
	}
	return Number{} // SLURM_NODEID counts beyond the list; it is compared with the number of nodes elsewhere
}

var taskCount = regexp.MustCompile(`^([1-9][0-9]{0,8})(?:\(x([1-9][0-9]{0,8})\))?$`)

func tasksPerNode(part string) (tasks, times int64, ok bool) {
	match := taskCount.FindStringSubmatch(part)
	if match == nil {
		return 0, 0, false
	}
	tasks, _ = strconv.ParseInt(match[1], 10, 64) // the expression admits numbers only
	times = 1
	if match[2] != "" {
		times, _ = strconv.ParseInt(match[2], 10, 64)
	}
	return tasks, times, true
}
