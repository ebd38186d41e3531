package tiergate.checks.tiering.core_local_test

import data.tiergate.checks.tiering.core_local

test_cases[name] if {
	some name, case in cases
	judged(object.union(facts, case.facts)) == object.union(passed, case.want)
}

# Without sizes there is nothing to compare the core with: the missing need makes the check unknown.
test_no_ranks if judged(object.remove(facts, ["core"])) == passed

judged(given) := result if {
	result := {
		"applies": core_local.applies,
		"violations": core_local.violations,
		"unknown": core_local.unknown,
	} with input as given
}

passed := {"applies": true, "violations": set(), "unknown": set()}

facts := {
	"stage": "launch",
	"engine": {},
	"transfer": {"given": true, "tiered": true},
	"core": {"given": true, "local": 1, "remote": [], "open": []},
}

cases := {
	"core near its first rank": {"facts": {}, "want": {}},
	"no tiers": {"facts": {"transfer": {"tiered": false}}, "want": {"applies": false}},
	"the core answers for itself": {"facts": {"stage": "registration"}, "want": {"applies": false}},
	"core elsewhere": {
		"facts": {"core": {"remote": [{"replica": 1, "first_rank": 8, "core_node": "head", "rank_node": "gpu-b"}]}},
		"want": {"violations": {{
			"message": concat(" ", [
				"secondary tiers read the shared memory of the engine core's node head,",
				"but rank 8, the first of replica 1, is on gpu-b, which does not share it",
			]),
			"nodes": ["head", "gpu-b"],
			"fix": "start this engine core on gpu-b with the same /dev/shm, or remove secondary_tiers",
		}}},
	},
	"core on any node": {
		"facts": {"core": {"open": [{"replica": 0, "first_rank": 0, "missing": ["core: not given"]}]}},
		"want": {"unknown": {"core: not given"}},
	},
	"transfer not known": {
		"facts": {
			"transfer": false,
			"engine": {"unresolved": [{"setting": "engine.kv_transfer", "reason": "$KV is not set"}]},
		},
		"want": {"unknown": {"engine.kv_transfer: $KV is not set"}},
	},
}
