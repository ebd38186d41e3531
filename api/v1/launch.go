package v1

import "encoding/json"

// Launch is what a launcher is about to start: an engine configuration, the nodes it was given and, where the launcher
// already knows them, the workers with their placement. Ranks are global over all data-parallel replicas:
// rank = (((dp*PP + p)*PCP + c)*TP) + t, TP fastest.
type Launch struct {
	Engine  Engine   `json:"engine"`
	Nodes   []Node   `json:"nodes,omitempty"`
	Workers []Worker `json:"workers,omitempty"`
	Core    *Core    `json:"core,omitempty"`
}

// Engine is one engine configuration, given as the command that starts it, as fields, or as both. A field that the
// command contradicts is an error, not a choice.
type Engine struct {
	ID      string `json:"id,omitempty"`
	Version string `json:"version,omitempty"`
	// Command is the argument list of the engine process, e.g. ["vllm", "serve", "model-x", "-tp", "2"].
	Command []string `json:"command,omitempty"`
	// Env is the environment of that process; only the variables that change a verdict are read.
	Env map[string]string `json:"env,omitempty"`
	// EnvUnknown names variables that will be set when the engine starts, to a value that nobody knows yet (a Kubernetes
	// fieldRef or secret). A setting computed from one is unknown; its shell default is never taken.
	EnvUnknown []string  `json:"env_unknown,omitempty"`
	Parallel   *Parallel `json:"parallel,omitempty"`
	// Executor is mp, ray, external_launcher or uni; empty means what vLLM would choose.
	Executor string `json:"executor,omitempty"`
	Nnodes   *int64 `json:"nnodes,omitempty"`
	// KVTransfer is vLLM's kv-transfer-config, verbatim.
	KVTransfer json.RawMessage `json:"kv_transfer,omitempty"`
}

// Parallel holds the sizes of the grid; an omitted size is 1. DataLocal is vLLM's data_parallel_size_local: how many
// replicas one host runs.
type Parallel struct {
	Tensor         *int64 `json:"tensor,omitempty"`
	Pipeline       *int64 `json:"pipeline,omitempty"`
	PrefillContext *int64 `json:"prefill_context,omitempty"`
	DecodeContext  *int64 `json:"decode_context,omitempty"`
	Data           *int64 `json:"data,omitempty"`
	DataLocal      *int64 `json:"data_local,omitempty"`
}

// Node is a set of facts about one host or container. ID, Hostname, IP and MachineID are shown to people and decide
// nothing: only BootID together with Shm.Device says which memory is shared.
type Node struct {
	ID       string  `json:"id"`
	BootID   string  `json:"boot_id,omitempty"`
	Shm      *Shm    `json:"shm,omitempty"`
	Memory   *Memory `json:"memory,omitempty"`
	Hostname string  `json:"hostname,omitempty"`
	IP       string  `json:"ip,omitempty"`
	// GPUs is how many the engine sees there; it decides vLLM's default executor.
	GPUs      *int64 `json:"gpus,omitempty"`
	MachineID string `json:"machine_id,omitempty"`
}

// Shm describes what is mounted at /dev/shm. Device is "major:minor" as in mountinfo; sizes are bytes.
type Shm struct {
	Device string `json:"device,omitempty"`
	// Host is true where the mount is the host's own (hostIPC, --ipc=host): without boot ids, two such nodes may or may not
	// share memory.
	Host       bool   `json:"host,omitempty"`
	TotalBytes *int64 `json:"total_bytes,omitempty"`
	FreeBytes  *int64 `json:"free_bytes,omitempty"`
	// StaleRegions is nil where nobody looked and empty where there are none.
	StaleRegions []StaleRegion `json:"stale_regions,omitzero"`
}

// StaleRegion is a vllm_offload_* file that no running engine owns.
type StaleRegion struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Memory is the memory limit that tmpfs pages of this node are charged to, in bytes.
type Memory struct {
	LimitBytes *int64 `json:"limit_bytes,omitempty"`
}

// Worker places one global rank on a node. Groups are the memberships it declares, by kind; they are checked against
// the grid. Config is the canonical configuration that the worker itself runs with, where it is known, and WorldSize the
// number of ranks of its replica that it was told; 0 where it is not known.
type Worker struct {
	Rank      int64              `json:"rank"`
	Node      string             `json:"node"`
	Version   string             `json:"version,omitempty"`
	Groups    map[string][]int64 `json:"groups,omitempty"`
	WorldSize int64              `json:"world_size,omitempty"`
	Config    *Configuration     `json:"config,omitempty"`
}

// Configuration is what all ranks of an engine must agree on. KVTransfer is compared without engine_id, kv_ip, kv_port
// and kv_rank, which rightly differ between processes.
type Configuration struct {
	Parallel   *Parallel       `json:"parallel,omitempty"`
	Executor   string          `json:"executor,omitempty"`
	Nnodes     *int64          `json:"nnodes,omitempty"`
	Version    string          `json:"version,omitempty"`
	KVTransfer json.RawMessage `json:"kv_transfer,omitempty"`
}

// Core says where the engine core (the scheduler) runs.
type Core struct {
	Node string `json:"node"`
}
