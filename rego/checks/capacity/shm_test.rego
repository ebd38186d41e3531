package tiergate.checks.capacity.shm_test

import data.tiergate.checks.capacity.shm

test_cases[name] if {
	some name, case in cases
	judged(object.union(facts, case.facts)) == object.union(passed, case.want)
}

judged(given) := result if {
	result := {
		"applies": shm.applies,
		"violations": shm.violations,
		"unknown": shm.unknown,
	} with input as given
}

passed := {"applies": true, "violations": set(), "unknown": set()}

facts := {
	"engine": {},
	"transfer": {"given": true, "connectors": [{"native": true, "cpu_bytes": 17179869184}]},
	"placement": {"known": true},
	"domains": [domain],
}

domain := {
	"nodes": ["gpu-a"],
	"ranks": 8,
	"replicas": [0, 1],
	"shm_total_bytes": 68719476736,
	"shm_free_bytes": 34359738368,
	"memory_limit_bytes": 68719476736,
	"region_bytes": 34359738368,
	"resident_bytes": 34359738368,
}

with_domain(change) := {"domains": [object.union(domain, change)]}

unmeasured := object.remove(domain, ["shm_free_bytes", "shm_total_bytes", "memory_limit_bytes"])

resize := concat(" ", [
	"enlarge /dev/shm (sizeLimit of the emptyDir, --shm-size, --ipc=host)",
	"or lower cpu_bytes_to_use to at most 8589934592 per replica",
])

too_small := {"shm_free_bytes": 17179869184}

cases := {
	"it just fits": {"facts": {}, "want": {}},
	"no native offload": {
		"facts": {"transfer": {"connectors": [{"native": false, "cpu_bytes": 1}]}},
		"want": {"applies": false},
	},
	"no transfer": {"facts": {"transfer": {"given": false, "connectors": []}}, "want": {"applies": false}},
	"transfer not known": {
		"facts": {
			"transfer": false,
			"engine": {"unresolved": [{"setting": "engine.kv_transfer", "reason": "$KV is not set"}]},
		},
		"want": {"unknown": {"engine.kv_transfer: $KV is not set"}},
	},
	"no placement": {
		"facts": {
			"placement": {"known": false, "missing": ["workers: executor \"ray\" decides"]},
			"domains": [object.remove(domain, ["region_bytes", "resident_bytes", "ranks", "replicas"])],
		},
		"want": {"unknown": {"workers: executor \"ray\" decides"}},
	},
	"not measured": {
		"facts": {"domains": [unmeasured]},
		"want": {"unknown": {"shm.free_bytes of node gpu-a"}},
	},
	"not measured where nothing runs": {
		"facts": {"domains": [domain, object.union(unmeasured, {"ranks": 0, "region_bytes": 0})]},
		"want": {},
	},
	"too little space": {
		"facts": with_domain(too_small),
		"want": {"violations": {{
			"message": concat(" ", [
				"node gpu-a: the CPU region of 2 replicas takes 32.0 GiB (34359738368 bytes) of /dev/shm,",
				"16.0 GiB (17179869184 bytes) are free",
			]),
			"nodes": ["gpu-a"],
			"fix": resize,
		}}},
	},
	"a mount that is too small": {
		"facts": {"domains": [object.union(unmeasured, {"shm_total_bytes": 17179869184})]},
		"want": {
			"violations": {{
				"message": concat(" ", [
					"node gpu-a: the CPU region of 2 replicas takes 32.0 GiB (34359738368 bytes) of /dev/shm,",
					"which holds 16.0 GiB (17179869184 bytes) in all",
				]),
				"nodes": ["gpu-a"],
				"fix": resize,
			}},
			"unknown": {"shm.free_bytes of node gpu-a"},
		},
	},
	"leftovers in the way": {
		"facts": with_domain(object.union(too_small, {
			"nodes": ["gpu-a", "gpu-a2"],
			"stale_regions": {"count": 1, "bytes": 17179869184, "names": ["vllm_offload_x.mmap"]},
		})),
		"want": {"violations": {{
			"message": concat(" ", [
				"nodes gpu-a, gpu-a2: the CPU region of 2 replicas takes 32.0 GiB (34359738368 bytes) of /dev/shm,",
				"16.0 GiB (17179869184 bytes) are free",
			]),
			"nodes": ["gpu-a", "gpu-a2"],
			"fix": concat(" ", [
				"remove 1 leftover region file there, 16.0 GiB (17179869184 bytes),",
				$"or {resize}",
			]),
		}}},
	},
	"leftovers that do not matter": {
		"facts": with_domain(object.union(too_small, {"stale_regions": {"count": 1, "bytes": 1, "names": ["a"]}})),
		"want": {"violations": {{
			"message": concat(" ", [
				"node gpu-a: the CPU region of 2 replicas takes 32.0 GiB (34359738368 bytes) of /dev/shm,",
				"16.0 GiB (17179869184 bytes) are free",
			]),
			"nodes": ["gpu-a"],
			"fix": resize,
		}}},
	},
	"too little memory": {
		"facts": with_domain({"memory_limit_bytes": 20000000000, "resident_bytes": 20000000001}),
		"want": {"violations": {{
			"message": concat(" ", [
				"node gpu-a: the populated part of the CPU regions takes 18.6 GiB (20000000001 bytes) of memory,",
				"the limit is 18.6 GiB (20000000000 bytes)",
			]),
			"nodes": ["gpu-a"],
			"fix": "raise the memory limit above that and what the engine itself needs, or lower cpu_bytes_to_use",
		}}},
	},
}
