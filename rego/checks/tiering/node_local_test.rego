package tiergate.checks.tiering.node_local_test

import data.tiergate.checks.tiering.node_local

test_cases[name] if {
	some name, case in cases
	judged(object.union(facts, case.facts)) == object.union(passed, case.want)
}

# A site that lists a version as one that mirrors hands the groups of such engines over to tiering.mirror.
test_mirrored if {
	mirroring := object.union(facts, {"transfer": {"connectors": [object.union(connector, {"config": {
		"kv_connector_extra_config": {"mirror_source": "auto"},
	}})]}})
	node_local.applies == false with input as mirroring with data.settings.features.mirror as ["0.40.0"]
	node_local.applies == true with input as mirroring with data.settings.features.mirror as ["0.41.0"]
	node_local.applies == true with input as facts with data.settings.features.mirror as ["0.40.0"]
}

judged(given) := result if {
	result := {
		"applies": node_local.applies,
		"violations": node_local.violations,
		"unknown": node_local.unknown,
	} with input as given
}

passed := {"applies": true, "violations": set(), "unknown": set()}

connector := {"path": "kv_transfer", "native": true, "tiered": true, "config": {}}

facts := {
	"engine": {"version": "0.40.0", "parallel": {"data": 1}, "world_size": 4},
	"transfer": {"given": true, "tiered": true, "connectors": [connector]},
	"placement": {"known": true},
	"groups": {
		"tp": {"spanning": [], "open": []},
		"pp": {"spanning": [], "open": []},
		"pcp": {"spanning": [], "open": []},
	},
}

spanning := {"ranks": [2, 3], "nodes": ["gpu-a", "gpu-b"], "placed": "rank 2 on gpu-a, rank 3 on gpu-b"}

cases := {
	"every group in one domain": {"facts": {}, "want": {}},
	"no tiers": {"facts": {"transfer": {"tiered": false}}, "want": {"applies": false}},
	"one worker": {"facts": {"engine": {"world_size": 1}}, "want": {"applies": false}},
	"a group spans": {
		"facts": {"groups": {"tp": {"spanning": [spanning]}}},
		"want": {"violations": {{
			"message": concat(" ", [
				"secondary tiers need each tp group in one node's shared memory,",
				"but tp group [2, 3] spans 2 nodes: rank 2 on gpu-a, rank 3 on gpu-b",
			]),
			"group": {"kind": "tp", "ranks": [2, 3]},
			"nodes": ["gpu-a", "gpu-b"],
			"fix": "place all ranks of a replica on one host with one /dev/shm, or remove secondary_tiers",
		}}},
	},
	"a group is open": {
		"facts": {"groups": {"pcp": {"open": [{"ranks": [0, 2], "missing": ["boot_id of node gpu-b", "node of rank 2"]}]}}},
		"want": {"unknown": {"boot_id of node gpu-b", "node of rank 2"}},
	},
	"no placement": {
		"facts": {"placement": {"missing": ["workers: executor \"ray\" decides at run time where ranks go"]}},
		"want": {"unknown": {"workers: executor \"ray\" decides at run time where ranks go"}},
	},
	"groups of other kinds": {
		"facts": {"groups": {"dp": {"spanning": [spanning]}, "ep": {"spanning": [spanning]}}},
		"want": {},
	},
}

# What cannot be read may have tiers.
test_transfer_unknown if {
	unread := object.union(
		object.remove(facts, ["transfer"]),
		{"engine": {"unresolved": [
			{"setting": "engine.kv_transfer", "reason": "$KV is not set in the container's env"},
			{"setting": "engine.node_rank", "reason": "$RANK is not set in the container's env"},
		]}},
	)
	judged(unread) == {
		"applies": true, "violations": set(),
		"unknown": {"engine.kv_transfer: $KV is not set in the container's env"},
	}
}

test_every_kind[kind] if {
	some kind in ["tp", "pp", "pcp"]
	spread := judged(object.union(facts, {"groups": {kind: {"spanning": [spanning]}}}))
	{violation.group | some violation in spread.violations} == {{"kind": kind, "ranks": [2, 3]}}
}
