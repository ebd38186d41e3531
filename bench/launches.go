package bench

import (
	"encoding/json"
	"fmt"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Sizes are the numbers of workers that every comparison is made at.
var Sizes = []int{8, 64, 512, 4096}

// Variant says how the workers of a generated launch are placed.
type Variant string

const (
	// OK keeps every replica on its own host, so the launch is allowed.
	OK Variant = "ok"
	// Bad moves the last rank to a spare host: its TP line and, with more than eight workers, its PP line span.
	Bad Variant = "bad"
	// Spread is one replica whose pipeline runs over all hosts, so that each of its eight PP lines spans.
	Spread Variant = "spread"
)

const (
	gib        = 1 << 30
	perNode    = 8
	engineTag  = "0.33.0"
	regionSize = 64 * gib
	transfer   = `{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":{` +
		`"spec_name":"TieringOffloadingSpec","cpu_bytes_to_use":68719476736,"blocks_per_chunk":4,` +
		`"secondary_tiers":[{"type":"fs","root_dir":"/mnt/kv-cache"}]}}`
)

// Launch generates a tiered launch of TP=8 engines, eight ranks to a container. Up to eight workers are one pipeline
// stage; above that a replica has two stages, in two containers that share their host's /dev/shm, and the rest is
// data parallel. The number of workers must be 8 or a multiple of 16. Equal arguments give equal launches.
func Launch(workers int, variant Variant) *v1.Launch {
	if workers != perNode && (workers < 2*perNode || workers%(2*perNode) != 0) {
		panic(fmt.Sprintf("bench: %d workers, want 8 or a multiple of 16", workers))
	}
	stages := min(workers/perNode, 2)
	launch := &v1.Launch{Engine: engine(workers, stages)}
	for i := range workers / perNode {
		launch.Nodes = append(launch.Nodes, container(i, i/stages))
	}
	for rank := range workers {
		launch.Workers = append(launch.Workers, worker(rank, launch.Nodes[rank/perNode].ID))
	}
	switch variant {
	case OK:
	case Bad:
		spare := container(workers/perNode, workers/perNode)
		launch.Nodes = append(launch.Nodes, spare)
		launch.Workers[workers-1].Node = spare.ID
	case Spread:
		spread(launch)
	}
	return launch
}

// Document is Launch as JSON text, the way a launcher sends it.
func Document(workers int, variant Variant) []byte {
	text, err := json.Marshal(Launch(workers, variant))
	if err != nil {
		panic(err) // The launch is made of plain values; it cannot fail to encode.
	}
	return text
}

func engine(workers, stages int) v1.Engine {
	parallel := &v1.Parallel{Tensor: new(int64(perNode))}
	if stages > 1 {
		parallel.Pipeline = new(int64(stages))
	}
	if replicas := workers / perNode / stages; replicas > 1 {
		parallel.Data, parallel.DataLocal = new(int64(replicas)), new(int64(1))
	}
	return v1.Engine{
		ID: "engine-a", Version: engineTag,
		Parallel: parallel, Executor: "mp", Nnodes: new(int64(workers / perNode)),
		KVTransfer: json.RawMessage(transfer),
	}
}

func container(index, host int) v1.Node {
	return v1.Node{
		ID:     fmt.Sprintf("gpu-%03d", index),
		BootID: fmt.Sprintf("3f6c1d0e-9a52-4c7b-8e11-%012x", host),
		Shm: &v1.Shm{
			Device: "0:27", TotalBytes: new(int64(512 * gib)), FreeBytes: new(int64(500 * gib)),
			StaleRegions: []v1.StaleRegion{},
		},
		Memory: &v1.Memory{LimitBytes: new(int64(1024 * gib))},
	}
}

func worker(rank int, node string) v1.Worker {
	return v1.Worker{Rank: int64(rank), Node: node, Version: engineTag}
}

// spread makes one replica of all containers and gives every container a host of its own.
func spread(launch *v1.Launch) {
	launch.Engine.Parallel = &v1.Parallel{Tensor: new(int64(perNode)), Pipeline: new(int64(len(launch.Nodes)))}
	for i := range launch.Nodes {
		launch.Nodes[i] = container(i, i)
	}
}
