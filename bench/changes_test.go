package bench

import (
	"encoding/json"
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// change is one thing that is different in an otherwise allowed launch of two stages, and what one check says of it.
type change struct {
	name    string
	make    func(*v1.Launch)
	check   string
	outcome string
}

// transferWith sets members of the extra configuration; nil removes one.
func transferWith(extra map[string]any) func(*v1.Launch) {
	return func(l *v1.Launch) { editTransfer(l, nil, extra) }
}

func transferItself(members map[string]any) func(*v1.Launch) {
	return func(l *v1.Launch) { editTransfer(l, members, nil) }
}

func editTransfer(l *v1.Launch, members, extra map[string]any) {
	var config map[string]any
	if err := json.Unmarshal(l.Engine.KVTransfer, &config); err != nil {
		panic(err)
	}
	inner := config["kv_connector_extra_config"].(map[string]any)
	for target, source := range map[*map[string]any]map[string]any{&config: members, &inner: extra} {
		for key, value := range source {
			if (*target)[key] = value; value == nil {
				delete(*target, key)
			}
		}
	}
	var err error
	if l.Engine.KVTransfer, err = json.Marshal(config); err != nil {
		panic(err)
	}
}

func tier(members map[string]any) func(*v1.Launch) {
	return transferWith(map[string]any{"secondary_tiers": []any{members}})
}

func cpuOnly(l *v1.Launch) {
	editTransfer(l, nil, map[string]any{"secondary_tiers": nil, "spec_name": nil})
}

func noOffload(l *v1.Launch) { l.Engine.KVTransfer = nil }

// displace moves the last rank to a host of its own.
func displace(l *v1.Launch) {
	spare := container(len(l.Nodes), len(l.Nodes))
	l.Nodes = append(l.Nodes, spare)
	l.Workers[len(l.Workers)-1].Node = spare.ID
}

func both(changes ...func(*v1.Launch)) func(*v1.Launch) {
	return func(l *v1.Launch) {
		for _, change := range changes {
			change(l)
		}
	}
}

var changes = slices.Concat(tieringChanges, offloadChanges, capacityChanges, parallelChanges, workerChanges)

var tieringChanges = []change{
	{"sound", func(*v1.Launch) {}, "tiering.node_local", v1.Pass},
	{"one rank elsewhere", displace, "tiering.node_local", v1.Fail},
	{"no tiers", both(cpuOnly, displace), "tiering.node_local", v1.NotApplicable},
	{"no offload", both(noOffload, displace), "tiering.node_local", v1.NotApplicable},
	{"other device", func(l *v1.Launch) { l.Nodes[1].Shm.Device = "0:30" }, "tiering.node_local", v1.Fail},
	{"one boot id absent", func(l *v1.Launch) { l.Nodes[1].BootID = "" }, "tiering.node_local", v1.Unknown},
	{"one device absent", func(l *v1.Launch) { l.Nodes[1].Shm.Device = "" }, "tiering.node_local", v1.Unknown},
	{"no boot ids", func(l *v1.Launch) { l.Nodes[0].BootID, l.Nodes[1].BootID = "", "" }, "tiering.node_local", v1.Fail},
	{"no boot ids, host's shm", func(l *v1.Launch) {
		for i := range l.Nodes {
			l.Nodes[i].BootID, l.Nodes[i].Shm.Host = "", true
		}
	}, "tiering.node_local", v1.Unknown},
	{"a rank is absent", func(l *v1.Launch) { l.Workers = l.Workers[1:] }, "tiering.node_local", v1.Unknown},
	{"workers out of order", func(l *v1.Launch) { slices.Reverse(l.Workers) }, "tiering.node_local", v1.Pass},
	{"core with mp", func(*v1.Launch) {}, "tiering.core_local", v1.Pass},
	{"core elsewhere", both(displace, func(l *v1.Launch) {
		l.Core = &v1.Core{Node: l.Nodes[2].ID}
	}), "tiering.core_local", v1.Fail},
	{"core may be elsewhere", both(displace, func(l *v1.Launch) {
		l.Engine.Executor, l.Engine.Nnodes = "ray", nil
	}), "tiering.core_local", v1.Unknown},
	{"core has no choice", func(l *v1.Launch) {
		l.Engine.Executor, l.Engine.Nnodes = "ray", nil
	}, "tiering.core_local", v1.Pass},
	{"core without tiers", cpuOnly, "tiering.core_local", v1.NotApplicable},
	{"no mirror", displace, "tiering.mirror", v1.NotApplicable},
	{"mirror of one domain", transferWith(map[string]any{"mirror_source": "auto"}), "tiering.mirror", v1.Pass},
	{"mirror across domains", both(displace, transferWith(map[string]any{
		"mirror_source": "auto",
	})), "tiering.mirror", v1.Fail},
	{"tiers are fine", tier(map[string]any{"type": "p2p"}), "tiering.config", v1.Pass},
	{"no tiers to judge", cpuOnly, "tiering.config", v1.NotApplicable},
	{"tiers are no list", transferWith(map[string]any{"secondary_tiers": "fs"}), "tiering.config", v1.Fail},
	{"tier is no object", transferWith(map[string]any{"secondary_tiers": []any{"fs"}}), "tiering.config", v1.Fail},
	{"tier without type", tier(map[string]any{"root_dir": "/kv"}), "tiering.config", v1.Fail},
	{"tier of unknown type", tier(map[string]any{"type": "tape"}), "tiering.config", v1.Fail},
	{"tier with a module", tier(map[string]any{"type": "tape", "module_path": "site.tape"}), "tiering.config", v1.Pass},
	{"fs without folder", tier(map[string]any{"type": "fs"}), "tiering.config", v1.Fail},
	{"obj without bucket", tier(map[string]any{
		"type": "obj", "store_config": map[string]any{},
	}), "tiering.config", v1.Fail},
	{"obj without store", tier(map[string]any{"type": "obj"}), "tiering.config", v1.Fail},
	{"kvcr without ports", tier(map[string]any{
		"type": "kvcr", "router_capabilities": []string{"x"},
	}), "tiering.config", v1.Fail},
	{"store threshold", transferWith(map[string]any{"store_threshold": 2}), "tiering.config", v1.Fail},
}

var offloadChanges = []change{
	{"offload is fine", func(*v1.Launch) {}, "offload.config", v1.Pass},
	{"no offload at all", noOffload, "offload.config", v1.NotApplicable},
	{"transfer is no object", func(l *v1.Launch) {
		l.Engine.KVTransfer = json.RawMessage(`"x"`)
	}, "offload.config", v1.Fail},
	{"no bytes", transferWith(map[string]any{"cpu_bytes_to_use": nil}), "offload.config", v1.Fail},
	{"no positive bytes", transferWith(map[string]any{"cpu_bytes_to_use": -1}), "offload.config", v1.Fail},
	{"chunk size twice", transferWith(map[string]any{"block_size": 64}), "offload.config", v1.Fail},
	{"chunk of no blocks", transferWith(map[string]any{"blocks_per_chunk": 0}), "offload.config", v1.Fail},
	{"unknown role", transferItself(map[string]any{"kv_role": "kv_some"}), "offload.config", v1.Fail},
	{"no role", transferItself(map[string]any{"kv_role": nil}), "offload.config", v1.Fail},
	{"unknown spec", transferWith(map[string]any{"spec_name": "SiteSpec"}), "offload.config", v1.Fail},
	{"spec of a module", transferWith(map[string]any{
		"spec_name": "SiteSpec", "spec_module_path": "site.spec",
	}), "offload.config", v1.Pass},
	{"children without role", func(l *v1.Launch) {
		l.Engine.KVTransfer = json.RawMessage(`{"kv_connector":"MultiConnector","kv_role":"kv_both",` +
			`"kv_connector_extra_config":{"connectors":[{"kv_connector":"NixlConnector"}]}}`)
	}, "offload.config", v1.Fail},
	{"tier of a child", func(l *v1.Launch) {
		l.Engine.KVTransfer = json.RawMessage(`{"kv_connector":"MultiConnector","kv_role":"kv_both",` +
			`"kv_connector_extra_config":{"connectors":[` + string(l.Engine.KVTransfer) + `]}}`)
		displace(l)
	}, "tiering.node_local", v1.Fail},
	{"waste on one host", cpuOnly, "offload.waste", v1.Pass},
	{"waste over hosts", both(cpuOnly, displace), "offload.waste", v1.Fail},
	{"waste with tiers", displace, "offload.waste", v1.NotApplicable},
}

var capacityChanges = []change{
	{"room", func(*v1.Launch) {}, "capacity.shm", v1.Pass},
	{"no region", noOffload, "capacity.shm", v1.NotApplicable},
	{"little room", func(l *v1.Launch) { *l.Nodes[1].Shm.FreeBytes = regionSize - 1 }, "capacity.shm", v1.Fail},
	{"just enough", func(l *v1.Launch) { *l.Nodes[1].Shm.FreeBytes = regionSize }, "capacity.shm", v1.Pass},
	{"room not known", func(l *v1.Launch) {
		l.Nodes[0].Shm.FreeBytes, l.Nodes[1].Shm.FreeBytes = nil, nil
	}, "capacity.shm", v1.NotApplicable},
	{"room known of one", func(l *v1.Launch) { l.Nodes[0].Shm.FreeBytes = nil }, "capacity.shm", v1.Pass},
	{"little room in all", func(l *v1.Launch) {
		for i := range l.Nodes {
			l.Nodes[i].Shm.FreeBytes, l.Nodes[i].Shm.TotalBytes = nil, new(int64(regionSize-1))
		}
	}, "capacity.shm", v1.Fail},
	{"memory limit", func(l *v1.Launch) { *l.Nodes[0].Memory.LimitBytes = regionSize - 1 }, "capacity.shm", v1.Fail},
	{"slots of one rank fit", both(displace, func(l *v1.Launch) {
		*l.Nodes[2].Memory.LimitBytes = regionSize / 16
	}), "capacity.shm", v1.Pass},
	{"slots of one rank do not fit", both(displace, func(l *v1.Launch) {
		*l.Nodes[2].Memory.LimitBytes = regionSize/16 - 1
	}), "capacity.shm", v1.Fail},
	{"two replicas in one domain", func(l *v1.Launch) {
		l.Engine.Parallel = &v1.Parallel{Tensor: new(int64(8)), Data: new(int64(2)), DataLocal: new(int64(2))}
		l.Engine.Nnodes = nil
		*l.Nodes[0].Shm.FreeBytes = 2*regionSize - 1
	}, "capacity.shm", v1.Fail},
	{"nothing stale", func(*v1.Launch) {}, "capacity.stale_regions", v1.Pass},
	{"stale reported by one", func(l *v1.Launch) { l.Nodes[0].Shm.StaleRegions = nil }, "capacity.stale_regions", v1.Pass},
	{"stale not reported", func(l *v1.Launch) {
		l.Nodes[0].Shm.StaleRegions, l.Nodes[1].Shm.StaleRegions = nil, nil
	}, "capacity.stale_regions", v1.NotApplicable},
	{"stale file", func(l *v1.Launch) {
		l.Nodes[0].Shm.StaleRegions = []v1.StaleRegion{{Name: "vllm_offload_a.mmap", Bytes: gib}}
	}, "capacity.stale_regions", v1.Fail},
	{"stale without offload", noOffload, "capacity.stale_regions", v1.NotApplicable},
}

var parallelChanges = []change{
	{"sizes are fine", func(*v1.Launch) {}, "parallel.config", v1.Pass},
	{"size of none", func(l *v1.Launch) { *l.Engine.Parallel.Tensor = 0 }, "parallel.config", v1.Fail},
	{"dcp divides", func(l *v1.Launch) { l.Engine.Parallel.DecodeContext = new(int64(4)) }, "parallel.config", v1.Pass},
	{"dcp does not divide", func(l *v1.Launch) {
		l.Engine.Parallel.DecodeContext = new(int64(3))
	}, "parallel.config", v1.Fail},
	{"dcp with pcp", func(l *v1.Launch) {
		l.Engine.Parallel = &v1.Parallel{Tensor: new(int64(8)), PrefillContext: new(int64(2)), DecodeContext: new(int64(4))}
	}, "parallel.config", v1.Fail},
	{"dp with pcp", func(l *v1.Launch) {
		l.Engine.Parallel = &v1.Parallel{Tensor: new(int64(4)), PrefillContext: new(int64(2)), Data: new(int64(2))}
	}, "parallel.config", v1.Fail},
	{"uni with stages", func(l *v1.Launch) { l.Engine.Executor = "uni" }, "parallel.config", v1.Fail},
	{"unknown executor", func(l *v1.Launch) { l.Engine.Executor = "slurm" }, "parallel.config", v1.Fail},
	{"class as executor", func(l *v1.Launch) {
		l.Engine.Executor, l.Engine.Nnodes = "site.Executor", nil
	}, "parallel.config", v1.Pass},
	{"ray with nnodes", func(l *v1.Launch) { l.Engine.Executor = "ray" }, "parallel.config", v1.Fail},
	{"nodes do not divide", func(l *v1.Launch) { l.Engine.Nnodes = new(int64(3)) }, "parallel.config", v1.Fail},
	{"no nodes", func(l *v1.Launch) { l.Engine.Nnodes = new(int64(0)) }, "parallel.config", v1.Fail},
	{"local replicas do not divide", func(l *v1.Launch) {
		l.Engine.Parallel.Data, l.Engine.Parallel.DataLocal = new(int64(4)), new(int64(3))
	}, "parallel.config", v1.Fail},
	{"nodes do not divide into hosts", func(l *v1.Launch) {
		l.Engine.Parallel = &v1.Parallel{Tensor: new(int64(4)), Data: new(int64(4)), DataLocal: new(int64(1))}
	}, "parallel.config", v1.Fail},
}

var workerChanges = []change{
	{"ranks are fine", func(*v1.Launch) {}, "topology.ranks", v1.Pass},
	{"rank absent", func(l *v1.Launch) { l.Workers = l.Workers[1:] }, "topology.ranks", v1.Fail},
	{"rank twice", func(l *v1.Launch) { l.Workers[1].Rank = 0 }, "topology.ranks", v1.Fail},
	{"rank outside", func(l *v1.Launch) { l.Workers[1].Rank = 99 }, "topology.ranks", v1.Fail},
	{"sizes make no grid", func(l *v1.Launch) { *l.Engine.Parallel.Pipeline = -1 }, "topology.ranks", v1.NotApplicable},
	{"huge grid", func(l *v1.Launch) {
		*l.Engine.Parallel.Tensor, *l.Engine.Parallel.Pipeline = 1<<31, 1<<31
	}, "topology.ranks", v1.Fail},
	{"groups of the grid", declare(map[string][]int64{
		"tp": {9, 8, 10, 11, 12, 13, 14, 15}, "pp": {1, 9}, "pcp": {9}, "dcp": {9}, "dp": {9},
		"ep": {8, 9, 10, 11, 12, 13, 14, 15},
	}), "topology.ranks", v1.Pass},
	{"group off the grid", declare(map[string][]int64{"pp": {9, 10}}), "topology.ranks", v1.Fail},
	{"group of no kind", declare(map[string][]int64{"cp": {9}}), "topology.ranks", v1.Fail},
	{"one version", func(*v1.Launch) {}, "consistency.versions", v1.Pass},
	{"two versions", func(l *v1.Launch) { l.Workers[3].Version = "0.32.0" }, "consistency.versions", v1.Fail},
	{"no version", func(l *v1.Launch) {
		for i := range l.Workers {
			l.Workers[i].Version = ""
		}
	}, "consistency.versions", v1.NotApplicable},
	{"no configurations", func(*v1.Launch) {}, "consistency.config", v1.NotApplicable},
	{"configurations agree", func(l *v1.Launch) {
		l.Workers[0].Config = &v1.Configuration{KVTransfer: json.RawMessage(`{"kv_role":"kv_both","kv_ip":"192.0.2.1"}`)}
		l.Workers[1].Config = &v1.Configuration{KVTransfer: json.RawMessage(`{"kv_role":"kv_both","kv_ip":"192.0.2.2"}`)}
	}, "consistency.config", v1.Pass},
	{"configurations differ", func(l *v1.Launch) {
		l.Workers[0].Config = &v1.Configuration{Parallel: &v1.Parallel{Tensor: new(int64(8))}}
		l.Workers[1].Config = &v1.Configuration{Parallel: &v1.Parallel{Tensor: new(int64(4))}}
	}, "consistency.config", v1.Fail},
}

// declare gives rank 9 group memberships.
func declare(groups map[string][]int64) func(*v1.Launch) {
	return func(l *v1.Launch) { l.Workers[9].Groups = groups }
}
