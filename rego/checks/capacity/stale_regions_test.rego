package tiergate.checks.capacity.stale_regions_test

import data.tiergate.checks.capacity.stale_regions

test_cases[name] if {
	some name, case in cases
	judged(case.facts) == object.union(passed, case.want)
}

judged(given) := result if {
	result := {
		"applies": stale_regions.applies,
		"violations": stale_regions.violations,
		"unknown": stale_regions.unknown,
	} with input as given
}

passed := {"applies": true, "violations": set(), "unknown": set()}

domains(list) := {"transfer": {"given": true}, "domains": list}

none := {"count": 0, "bytes": 0, "names": []}

cases := {
	"none": {"facts": domains([{"nodes": ["gpu-a"], "ranks": 1, "stale_regions": none}]), "want": {}},
	"no transfer": {"facts": {"transfer": {"given": false}}, "want": {"applies": false}},
	"transfer not known": {"facts": {"domains": []}, "want": {}},
	"leftovers": {
		"facts": domains([
			{"nodes": ["gpu-a"], "ranks": 1, "stale_regions": none},
			{"nodes": ["gpu-b"], "ranks": 0, "stale_regions": {
				"count": 2, "bytes": 17179869184,
				"names": ["vllm_offload_a.mmap", "vllm_offload_b.mmap"],
			}},
		]),
		"want": {"violations": {{
			"message": concat(" ", [
				"node gpu-b: 16.0 GiB (17179869184 bytes) of /dev/shm in 2 leftover region files:",
				"vllm_offload_a.mmap, vllm_offload_b.mmap",
			]),
			"nodes": ["gpu-b"],
			"fix": "remove /dev/shm/vllm_offload_*.mmap there while no engine runs on that /dev/shm",
		}}},
	},
	"not reported": {
		"facts": domains([
			{"nodes": ["gpu-a", "gpu-a2"], "ranks": 8},
			{"nodes": ["head"], "ranks": 0},
			{"nodes": ["gpu-b"]},
		]),
		"want": {"unknown": {"shm.stale_regions of nodes gpu-a, gpu-a2", "shm.stale_regions of node gpu-b"}},
	},
}
