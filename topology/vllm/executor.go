package vllm

import (
	"slices"
	"strings"

	"github.com/tiergate/tiergate/topology"
)

// The executors that vLLM knows by name; any other is the import path of a class.
const (
	executorMP       = "mp"
	executorRay      = "ray"
	executorUni      = "uni"
	executorExternal = "external_launcher"
)

var executors = []string{executorMP, executorRay, executorUni, executorExternal}

// executor reads the executor, or chooses it as vLLM does.
func (b *builder) executor() {
	e, field := b.engine, b.launch.Engine.Executor
	o, reason := b.given(flagExecutor)
	switch {
	case reason != "" && field == "":
		b.unresolve(topology.SettingExecutor, reason)
		return
	case reason != "" || !o.given || isNone(o.value):
		e.Executor, o.spelled = field, topology.SettingExecutor
	case field != "" && field != o.value:
		b.contradict(topology.SettingExecutor, field, o)
	default:
		e.Executor = o.value
	}
	switch e.ExecutorGiven = e.Executor != ""; {
	case !e.ExecutorGiven:
		e.Executor = b.defaultExecutor()
	case !slices.Contains(executors, e.Executor) && !strings.Contains(e.Executor, "."):
		b.refuse(topology.Refusal{
			Check: checkParallel, Setting: o.spelled, Value: shorten(e.Executor),
			Reason: "it is no executor that vLLM knows and no import path of one",
			Fix:    "choose mp, ray, uni or external_launcher, or give the path of an Executor class",
		})
	}
}

// defaultExecutor is vLLM's choice. Where the GPUs of a node are known to be too few for a replica, only Ray can
// place it, which older versions then chose and newer ones ask for.
func (b *builder) defaultExecutor() string {
	e := b.engine
	world := product(e.Pipeline, e.Tensor, e.PrefillContext)
	switch {
	case e.Nnodes > 1:
		return executorMP
	case world == 1 && e.Data == 1:
		return executorUni
	case e.DataBackend == executorRay || b.tooFewGPUs(world):
		return executorRay
	}
	return executorMP
}

// product multiplies sizes; more than a node can have is as good as any larger number.
func product(sizes ...int64) int64 {
	const most = 1 << 20
	world := int64(1)
	for _, size := range sizes {
		world *= min(max(size, 0), most)
		world = min(world, most)
	}
	return world
}

func (b *builder) tooFewGPUs(world int64) bool {
	for i := range b.launch.Nodes {
		if gpus := b.launch.Nodes[i].GPUs; gpus != nil && *gpus < world {
			return true
		}
	}
	return false
}
