package tiergate.checks.offload.config_test

import data.tiergate.checks.offload.config

test_cases[name] if {
	some name, case in cases
	judged(case.facts) == object.union(passed, case.want)
}

test_sound[name] if {
	some name, connector in sound
	judged(transfer(connector)) == passed
}

test_violations[name] if {
	some name, case in violations
	judged(transfer(case.connector)).violations == {{"message": message, "fix": fix} | some [message, fix] in case.want}
}

judged(given) := result if {
	result := {
		"applies": config.applies,
		"violations": config.violations,
		"unknown": config.unknown,
	} with input as given
}

passed := {"applies": true, "violations": set(), "unknown": set()}

transfer(connector) := {"engine": {}, "transfer": {"given": true, "connectors": [connector]}}

native := {
	"path": "kv_transfer",
	"name": "OffloadingConnector",
	"spec": "CPUOffloadingSpec",
	"native": true,
	"cpu_bytes": 1073741824,
	"config": {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {}},
}

with_extra(extra) := object.union(native, {"config": {"kv_connector_extra_config": extra}})

unsized(extra) := object.union(with_extra(extra), {"cpu_bytes": 0})

other(name, config) := {
	"path": "kv_transfer",
	"name": name,
	"spec": "",
	"native": false,
	"cpu_bytes": 0,
	"config": config,
}

cases := {
	"no transfer": {"facts": {"engine": {}, "transfer": {"given": false}}, "want": {"applies": false}},
	"transfer not known": {
		"facts": {"engine": {"unresolved": [{"setting": "engine.kv_transfer", "reason": "$KV is not set"}]}},
		"want": {"unknown": {"engine.kv_transfer: $KV is not set"}},
	},
	"refused by the engine": {
		"facts": {"transfer": {"given": false}, "engine": {"refusals": [{
			"check": "offload.config", "setting": "--kv-transfer-config", "value": "{a:b}",
			"reason": "not JSON", "fix": "quote it",
		}]}},
		"want": {"violations": {{"message": "--kv-transfer-config is {a:b}: not JSON", "fix": "quote it"}}},
	},
	"refused without a value": {
		"facts": {"transfer": {"given": true}, "engine": {"refusals": [{
			"check": "offload.config", "setting": "--kv-transfer-config", "value": "",
			"reason": "expected one argument", "fix": "give it",
		}]}},
		"want": {"violations": {{"message": "--kv-transfer-config: expected one argument", "fix": "give it"}}},
	},
	"refused for another check": {
		"facts": {"transfer": {"given": true}, "engine": {"refusals": [{"check": "parallel.config"}]}},
		"want": {},
	},
}

sound := {
	"native": native,
	"producer": object.union(native, {"config": {"kv_role": "kv_producer"}}),
	"consumer": object.union(native, {"config": {"kv_role": "kv_consumer"}}),
	"blocks per chunk": with_extra({"blocks_per_chunk": 4, "block_size": null}),
	"block size": with_extra({"block_size": 64}),
	"a spec of its own": object.union(
		other("OffloadingConnector", {"kv_role": "kv_both", "kv_connector_extra_config": {"spec_module_path": "slab.spec"}}),
		{"spec": "SlabSpec"},
	),
	"a connector of its own": object.union(
		other("OffloadingConnector", {"kv_role": "kv_both", "kv_connector_module_path": "slab.connector"}),
		{"spec": "SlabSpec"},
	),
	"another connector": other("LMCacheConnectorV1", {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}),
	"no connector": other("", {"kv_connector": null, "engine_id": "a"}),
}

role_fix := "set kv_role to kv_both, kv_producer or kv_consumer, also in each child of a MultiConnector"

bytes_fix := concat(" ", [
	"set cpu_bytes_to_use to the bytes for all workers of a replica together,",
	"e.g. 10737418240 for 10 GiB",
])

bytes_are(shown) := concat(" ", [
	$"kv_transfer: cpu_bytes_to_use is {shown},",
	"CPUOffloadingSpec needs a number of bytes between 1 and 2^63",
])

whole(key, shown) := [
	$"kv_transfer: {key} is {shown}, vLLM needs a whole number of at least 1",
	$"set {key} to 1 or more, or remove it",
]

violations := {
	"no role": {
		"connector": other("NixlConnector", {"kv_connector": "NixlConnector"}),
		"want": [["kv_transfer: kv_role is not set, a connector needs one", role_fix]],
	},
	"a wrong role": {
		"connector": object.union(native, {"config": {"kv_role": "both"}}),
		"want": [["kv_transfer: kv_role is \"both\", a connector needs one", role_fix]],
	},
	"a role that is no text": {
		"connector": other("", {"kv_role": 7}),
		"want": [["kv_transfer: kv_role is 7, a connector needs one", role_fix]],
	},
	"a child without a name": {
		"connector": object.union(
			other("", {"kv_role": "kv_both"}),
			{"path": "kv_transfer.kv_connector_extra_config.connectors[1]"},
		),
		"want": [[
			"kv_transfer.kv_connector_extra_config.connectors[1] names no kv_connector",
			"name the connector of each child of a MultiConnector, e.g. OffloadingConnector",
		]],
	},
	"an unknown spec": {
		"connector": object.union(
			other("OffloadingConnector", {"kv_role": "kv_both", "kv_connector_extra_config": {
				"spec_name": "SlabSpec",
				"spec_module_path": "",
			}}),
			{"spec": "SlabSpec"},
		),
		"want": [[
			"kv_transfer: spec_name is \"SlabSpec\", which vLLM does not have, and spec_module_path is not set",
			"set spec_name to CPUOffloadingSpec or TieringOffloadingSpec, or spec_module_path to the module of the class",
		]],
	},
	"no bytes": {"connector": unsized({}), "want": [[bytes_are("not set"), bytes_fix]]},
	"null bytes": {"connector": unsized({"cpu_bytes_to_use": null}), "want": [[bytes_are("not set"), bytes_fix]]},
	"a size with a unit": {
		"connector": unsized({"cpu_bytes_to_use": "10GiB"}),
		"want": [[bytes_are("\"10GiB\""), bytes_fix]],
	},
	"negative bytes": {"connector": unsized({"cpu_bytes_to_use": -1}), "want": [[bytes_are("-1"), bytes_fix]]},
	"true for bytes": {"connector": unsized({"cpu_bytes_to_use": true}), "want": [[bytes_are("true"), bytes_fix]]},
	"a list for bytes": {"connector": unsized({"cpu_bytes_to_use": [1]}), "want": [[bytes_are("a list"), bytes_fix]]},
	"no extra configuration": {
		"connector": object.union(
			object.remove(native, ["config"]),
			{"cpu_bytes": 0, "config": {"kv_role": "kv_both"}},
		),
		"want": [[bytes_are("not set"), bytes_fix]],
	},
	"more bytes than a file can have": {
		"connector": object.union(
			with_extra({"cpu_bytes_to_use": 1000000000000000000000}),
			{"cpu_bytes": 9223372036854775807},
		),
		"want": [[bytes_are("1000000000000000000000"), bytes_fix]],
	},
	"the key of old versions": {
		"connector": unsized({"num_cpu_blocks": 1000, "block_size": 64}),
		"want": [[bytes_are("not set"), concat(" ", [
			"replace num_cpu_blocks, which vLLM no longer reads, with cpu_bytes_to_use:",
			"the bytes for all workers of a replica together",
		])]],
	},
	"chunks given twice": {
		"connector": with_extra({"block_size": 64, "blocks_per_chunk": 4}),
		"want": [[
			"kv_transfer: block_size is 64 and blocks_per_chunk is 4, they exclude each other",
			"keep blocks_per_chunk (GPU blocks per chunk) or block_size (tokens per chunk)",
		]],
	},
	"no blocks per chunk": {
		"connector": with_extra({"blocks_per_chunk": 0}),
		"want": [whole("blocks_per_chunk", "0")],
	},
	"a broken number of blocks": {
		"connector": with_extra({"blocks_per_chunk": 1.5}),
		"want": [whole("blocks_per_chunk", "1.5")],
	},
	"a text for blocks": {
		"connector": with_extra({"blocks_per_chunk": "4"}),
		"want": [whole("blocks_per_chunk", "\"4\"")],
	},
	"false for tokens": {"connector": with_extra({"block_size": false}), "want": [whole("block_size", "false")]},
	"more tokens than there are": {
		"connector": with_extra({"block_size": 1000000000000000000000}),
		"want": [whole("block_size", "1000000000000000000000")],
	},
}
