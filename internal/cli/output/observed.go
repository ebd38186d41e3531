package output

import (
	"fmt"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// observed is the launch that the ranks of an attempt make, for drawing; nil where they said no sizes.
func observed(view *v1.AttemptView) *v1.Launch {
	if view == nil || view.Parallel == nil || len(view.Ranks) == 0 {
		return nil
	}
	p := view.Parallel // ranks are those within the replica
	launch := &v1.Launch{Engine: v1.Engine{
		Parallel: &v1.Parallel{Tensor: p.Tensor, Pipeline: p.Pipeline, PrefillContext: p.PrefillContext},
	}}
	type place struct{ node, boot, device string }
	names, taken := map[place]string{}, map[string]bool{}
	for _, r := range view.Ranks {
		at := place{r.Node, r.BootID, r.ShmDevice}
		if _, known := names[at]; !known {
			name := nodeName(r.Node)
			if taken[name] { // another /dev/shm of one machine
				name = fmt.Sprintf("%s/%s", name, r.ShmDevice)
			}
			names[at], taken[name] = name, true
			// Without a boot id nobody knows which memory this is, which is what Host says of a node.
			shm := &v1.Shm{Device: r.ShmDevice, Host: r.BootID == ""}
			launch.Nodes = append(launch.Nodes, v1.Node{ID: name, BootID: r.BootID, Shm: shm})
		}
		launch.Workers = append(launch.Workers, v1.Worker{Rank: r.Rank, Node: names[at]})
	}
	return launch
}

func nodeName(node string) string {
	if node == "" {
		return "?"
	}
	return node
}
