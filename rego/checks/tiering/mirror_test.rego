package tiergate.checks.tiering.mirror_test

import data.tiergate.checks.tiering.mirror

test_cases[name] if {
	some name, case in cases
	judged(object.union(facts, case.facts), case.listed) == object.union(passed, case.want)
}

test_not_applicable if {
	mirror.applies == false with input.transfer as {"given": false, "tiered": false}
	mirror.applies == false with input as object.union(
		facts,
		{"transfer": {"connectors": [with_extra({"mirror_source": false})]}},
	)
}

# Without any settings no version mirrors.
test_as_shipped if {
	result := mirror.violations with input as facts
	messages(result) == {message("version 0.40.0 of the engine is not listed in settings.features.mirror")}
}

test_hindrances[name] if {
	some name, case in hindrances
	given := object.union(facts, case.facts)
	result := mirror.violations with input as given with data.settings.features.mirror as ["0.40.0"]
	messages(result) == {message(case.want)}
}

message(hindrance) := $"mirror_source is set for groups that span nodes (1), but {hindrance}"

messages(violations) := {violation.message | some violation in violations}

judged(given, listed) := result if {
	result := {
		"applies": mirror.applies,
		"violations": mirror.violations,
		"unknown": mirror.unknown,
	} with input as given with data.settings.features.mirror as listed
}

passed := {"applies": true, "violations": set(), "unknown": set()}

facts := {
	"engine": {"version": "0.40.0", "parallel": {"data": 1}},
	"transfer": {"given": true, "tiered": true, "connectors": [mirroring]},
	"groups": {
		"tp": {"spanning": [{"ranks": [0, 1]}]},
		"pp": {"spanning": []},
		"pcp": {"spanning": []},
	},
}

mirroring := {
	"path": "kv_transfer",
	"spec": "TieringOffloadingSpec",
	"native": true,
	"tiered": true,
	"config": {"kv_connector_extra_config": {"mirror_source": "auto", "secondary_tiers": [{"type": "fs"}]}},
}

with_extra(extra) := object.union(mirroring, {"config": {"kv_connector_extra_config": extra}})

cases := {
	"a version that mirrors": {"facts": {}, "listed": ["0.40.0", "0.41.0"], "want": {}},
	"nothing to mirror": {"facts": {"groups": {"tp": {"spanning": []}}}, "listed": [], "want": {}},
	"transfer not known": {
		"facts": {
			"transfer": false,
			"engine": {"unresolved": [{"setting": "engine.kv_transfer", "reason": "$KV is not set"}]},
		},
		"listed": ["0.40.0"],
		"want": {"unknown": {"engine.kv_transfer: $KV is not set"}},
	},
	"another version": {
		"facts": {},
		"listed": ["0.41.0"],
		"want": {"violations": {{
			"message": message("version 0.40.0 of the engine is not listed in settings.features.mirror"),
			"fix": concat(" ", [
				"place all ranks of a replica on one host with one /dev/shm,",
				"or use an engine and a configuration that mirror",
			]),
		}}},
	},
}

hindrances := {
	"data parallelism": {
		"facts": {"engine": {"parallel": {"data": 2}}},
		"want": "data parallel replicas are not mirrored",
	},
	"canonical layout": {
		"facts": {"transfer": {"connectors": [with_extra({"canonical_layout": true})]}},
		"want": "kv_transfer sets canonical_layout, which is not mirrored",
	},
	"replicated layout": {
		"facts": {"transfer": {"connectors": [with_extra({"replicated_layout": "yes"})]}},
		"want": "kv_transfer sets replicated_layout, which is not mirrored",
	},
	"a kvcr tier": {
		"facts": {"transfer": {"connectors": [with_extra({"secondary_tiers": [{"type": "fs"}, {"type": "kvcr"}]})]}},
		"want": "kv_transfer has a kvcr tier, which is not mirrored",
	},
	"a spec of its own": {
		"facts": {"transfer": {"connectors": [object.union(mirroring, {"native": false})]}},
		"want": "the offloading spec of kv_transfer is not vLLM's own",
	},
	"tiers that are not mirrored": {
		"facts": {"transfer": {"connectors": [mirroring, {"path": "child", "native": true, "tiered": true, "config": {}}]}},
		"want": "child has tiers but no mirror_source",
	},
}

test_version_not_given if {
	given := object.union(object.remove(facts, ["engine"]), {"engine": {"parallel": {"data": 1}}})
	result := mirror.violations with input as given
	messages(result) == {message("the launch does not give the engine's version")}
}
