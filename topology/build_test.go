package topology

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// engineOf is an engine that vLLM would start: sizes as given, and one node.
func engineOf(executor string, tensor, prefillContext, pipeline, data int64) *Engine {
	return &Engine{
		Tensor: tensor, PrefillContext: prefillContext, Pipeline: pipeline, Data: data, DecodeContext: 1, Nnodes: 1,
		Executor: executor,
	}
}

// with changes an engine in place.
func (e *Engine) with(change func(*Engine)) *Engine {
	change(e)
	return e
}

// fullNode has all the facts that a worker reports.
func fullNode(id, boot, device string) v1.Node {
	return v1.Node{ID: id, BootID: boot, Shm: &v1.Shm{Device: device}}
}

// bareNode is known by its id only.
func bareNode(id string) v1.Node { return v1.Node{ID: id} }

// hostNode uses its host's own /dev/shm.
func hostNode(id string) v1.Node { return v1.Node{ID: id, Shm: &v1.Shm{Host: true}} }

// letters lists full nodes of different hosts: "AB" is nodes A and B.
func letters(ids string) []v1.Node {
	var list []v1.Node
	for _, id := range strings.Split(ids, "") {
		list = append(list, fullNode(id, "boot-"+id, "0:27"))
	}
	return list
}

// placed is a launch whose rank i runs on the node named by letter i: "AAB" puts rank 2 on node B. A dot is no worker.
func placed(ranks string) *v1.Launch {
	launch := &v1.Launch{}
	seen := ""
	for rank, id := range strings.Split(ranks, "") {
		if id == "." {
			continue
		}
		if !strings.Contains(seen, id) {
			seen += id
		}
		launch.Workers = append(launch.Workers, v1.Worker{Rank: int64(rank), Node: id})
	}
	launch.Nodes = letters(seen)
	return launch
}

func pointer(n int64) *int64 { return &n }

// fold folds a launch without an error, at the launch stage unless the options say otherwise.
func fold(t require.TestingT, launch *v1.Launch, engine *Engine, opts ...FoldOptions) *Facts {
	if helper, ok := t.(testing.TB); ok {
		helper.Helper()
	}
	options := FoldOptions{Stage: StageLaunch}
	if len(opts) > 0 {
		options = opts[0]
	}
	facts, err := Fold(launch, engine, options)
	require.NoError(t, err)
	return facts
}
