package output

import (
	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
)

// observed is the launch that the ranks of an attempt make, for drawing, with the names that the admission has for places;
// nil where they said no sizes.
func observed(view *v1.AttemptView) *v1.Launch {
	if view == nil || view.Parallel == nil || len(view.Ranks) == 0 {
		return nil
	}
	p := view.Parallel // ranks are those within the replica
	grid := &v1.Parallel{Tensor: p.Tensor, Pipeline: p.Pipeline, PrefillContext: p.PrefillContext}
	reports := make([]admission.Ranked, len(view.Ranks))
	for i, r := range view.Ranks {
		facts := v1.NodeFacts{Node: r.Node, Pod: r.Pod, BootID: r.BootID, Shm: &v1.ShmFacts{Device: r.ShmDevice}}
		reports[i] = admission.Ranked{Rank: r.Rank, Report: &v1.Report{
			WorldSize: view.WorldSize, Configuration: v1.Configuration{Parallel: grid}, Facts: facts,
		}}
	}
	launch := admission.Launch(view.Engine, view.WorldSize, reports)
	for i := range launch.Nodes {
		// Without a boot id nobody knows which memory this is, which is what Host says of a node.
		launch.Nodes[i].Shm.Host = launch.Nodes[i].BootID == ""
	}
	return launch
}

func nodeName(node string) string {
	if node == "" {
		return "?"
	}
	return node
}
