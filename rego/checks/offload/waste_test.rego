package tiergate.checks.offload.waste_test

import data.tiergate.checks.offload.waste

test_cases[name] if {
	some name, case in cases
	judged(object.union(facts, case.facts)) == object.union(passed, case.want)
}

judged(given) := result if {
	result := {
		"applies": waste.applies,
		"violations": waste.violations,
		"unknown": waste.unknown,
	} with input as given
}

passed := {"applies": true, "violations": set(), "unknown": set()}

facts := {
	"engine": {"world_size": 8},
	"transfer": {"given": true, "tiered": false, "connectors": [
		{"native": true, "cpu_bytes": 68719476736},
		{"native": false, "cpu_bytes": 1},
	]},
	"replicas": {"count": 1, "spanning": []},
}

cases := {
	"every replica on one host": {"facts": {}, "want": {}},
	"a replica on two hosts": {
		"facts": {"replicas": {"spanning": [{"replica": 0, "nodes": ["gpu-a", "gpu-b"], "domains": 2, "largest_share": 4}]}},
		"want": {"violations": {{
			"message": concat(" ", [
				"replica 0 reserves 64.0 GiB (68719476736 bytes) of shared memory",
				"in each of 2 places (nodes gpu-a, gpu-b), where at most 4 of its 8 ranks write",
			]),
			"nodes": ["gpu-a", "gpu-b"],
			"fix": "place each replica on one host, or count on cpu_bytes_to_use being taken once per host",
		}}},
	},
	"tiers": {"facts": {"transfer": {"tiered": true}}, "want": {"applies": false}},
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
}
