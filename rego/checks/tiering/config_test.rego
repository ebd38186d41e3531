package tiergate.checks.tiering.config_test

import data.tiergate.checks.tiering.config

test_cases[name] if {
	some name, case in cases
	judged(case.facts) == object.union(passed, case.want)
}

test_violations[name] if {
	some name, case in violations
	judged(extra(case.extra)).violations == {{"message": message, "fix": fix} | some [message, fix] in case.want}
}

judged(given) := result if {
	result := {
		"applies": config.applies,
		"violations": config.violations,
		"unknown": config.unknown,
	} with input as given
}

passed := {"applies": true, "violations": set(), "unknown": set()}

extra(config) := owner({"spec": "TieringOffloadingSpec", "native": true}, config)

owner(connector, config) := {"engine": {}, "transfer": {"connectors": [object.union(
	{"path": "kv_transfer", "tiered": true, "config": {"kv_connector_extra_config": config}},
	connector,
)]}}

tiers(list) := extra({"secondary_tiers": list})

cases := {
	"a tier of each type": {
		"facts": tiers([
			{"type": "example"},
			{"type": "fs", "root_dir": "/mnt/kv"},
			{"type": "obj", "store_config": {"bucket": "kv", "endpoint_override": "store:9000", "access_key": "***"}},
			{"type": "p2p", "host": "gpu-a", "port": 5710},
			{"type": "kvcr", "router_capabilities": ["prefix"], "control_ports": [7000]},
			{"type": "pd", "module_path": "pd_backend.manager"},
		]),
		"want": {},
	},
	"no tiers in a tiered spec": {
		"facts": owner({"spec": "TieringOffloadingSpec", "native": true, "tiered": false}, {"store_threshold": 1}),
		"want": {},
	},
	"tiers in the plain spec": {
		"facts": owner(
			{"spec": "CPUOffloadingSpec", "native": true},
			{"secondary_tiers": [{"type": "fs", "root_dir": "/kv"}]},
		),
		"want": {},
	},
	"a spec with tiers of its own": {
		"facts": owner({"spec": "SlabSpec", "native": false}, {"secondary_tiers": [{"type": "slab"}]}),
		"want": {"applies": false},
	},
	"no tiered connector": {
		"facts": owner({"spec": "CPUOffloadingSpec", "native": true, "tiered": false}, {"store_threshold": 2}),
		"want": {"applies": false},
	},
	"no transfer": {"facts": {"engine": {}, "transfer": {"given": false}}, "want": {"applies": false}},
	"transfer not known": {
		"facts": {"engine": {"unresolved": [{"setting": "engine.kv_transfer", "reason": "$KV is not set"}]}},
		"want": {"unknown": {"engine.kv_transfer: $KV is not set"}},
	},
	"the name of fs in version 0.22": {
		"facts": object.union(
			tiers([{"type": "fs_python", "root_dir": "/mnt/kv"}]),
			{"engine": {"version": "0.22.0"}},
		),
		"want": {},
	},
	"refused by the engine": {
		"facts": {"transfer": {"given": true, "connectors": []}, "engine": {"refusals": [
			{"check": "tiering.config", "setting": "x", "value": "y", "reason": "z", "fix": "f"},
			{"check": "offload.config", "setting": "a", "value": "b", "reason": "c", "fix": "d"},
		]}},
		"want": {"violations": {{"message": "x is y: z", "fix": "f"}}},
	},
}

types := "example, fs, kvcr, obj or p2p"

list_fix := `write secondary_tiers as a list such as [{"type": "fs", "root_dir": "/mnt/kv-cache"}], or remove it`

type_fix := $"set its type to {types}, or to the name of a class with its module_path"

root_fix := "set root_dir to a folder of the engine core's node, e.g. /mnt/kv-cache"

store_fix := "set store_config.bucket and store_config.endpoint_override (host:port of the object store)"

kvcr_fix := "list the router's capabilities in router_capabilities and one port per local replica in control_ports"

threshold_fix := "remove store_threshold: it belongs to CPUOffloadingSpec"

unknown_fix(hint) := $"set its type to {types}{hint}, or name the module of the class in module_path"

violations := {
	"a text for a list": {
		"extra": {"secondary_tiers": "fs"},
		"want": [["kv_transfer: secondary_tiers is \"fs\", vLLM reads a list of objects", list_fix]],
	},
	"null for a list": {
		"extra": {"secondary_tiers": null},
		"want": [["kv_transfer: secondary_tiers is null, vLLM reads a list of objects", list_fix]],
	},
	"an object for a list": {
		"extra": {"secondary_tiers": {"type": "fs"}},
		"want": [["kv_transfer: secondary_tiers is an object, vLLM reads a list of objects", list_fix]],
	},
	"entries that are no objects": {
		"extra": {"secondary_tiers": ["fs", ["fs"], null]},
		"want": [
			["kv_transfer: secondary_tiers[0] is \"fs\", vLLM reads an object", "write each tier as an object with a type"],
			["kv_transfer: secondary_tiers[1] is a list, vLLM reads an object", "write each tier as an object with a type"],
			["kv_transfer: secondary_tiers[2] is null, vLLM reads an object", "write each tier as an object with a type"],
		],
	},
	"no type": {
		"extra": {"secondary_tiers": [{"root_dir": "/kv"}, {"type": 7}, {"type": ""}, {"type": {}, "module_path": "m"}]},
		"want": [
			["kv_transfer: secondary_tiers[0] has type not set, vLLM needs a name", type_fix],
			["kv_transfer: secondary_tiers[1] has type 7, vLLM needs a name", type_fix],
			["kv_transfer: secondary_tiers[2] has type \"\", vLLM needs a name", type_fix],
			["kv_transfer: secondary_tiers[3] has type an object, vLLM needs a name", type_fix],
		],
	},
	"an unknown type": {
		"extra": {"secondary_tiers": [{"type": "S3"}, {"type": "tape", "module_path": ""}, {"type": "fs_python"}]},
		"want": [
			[
				"kv_transfer: secondary_tiers[0] has type \"S3\", which vLLM does not know, and no module_path",
				unknown_fix(" (did you mean obj?)"),
			],
			[
				"kv_transfer: secondary_tiers[1] has type \"tape\", which vLLM does not know, and no module_path",
				unknown_fix(""),
			],
			[
				"kv_transfer: secondary_tiers[2] has type \"fs_python\", which vLLM does not know, and no module_path",
				unknown_fix(" (fs was called fs_python in vLLM 0.22 only; give the engine's version if it is that)"),
			],
			["kv_transfer: secondary_tiers[2]: root_dir is not set, type fs needs a folder", root_fix],
		],
	},
	"no folder": {
		"extra": {"secondary_tiers": [{"type": "fs"}, {"type": "fs", "root_dir": 5}, {"type": "fs", "root_dir": ""}]},
		"want": [
			["kv_transfer: secondary_tiers[0]: root_dir is not set, type fs needs a folder", root_fix],
			["kv_transfer: secondary_tiers[1]: root_dir is 5, type fs needs a folder", root_fix],
			["kv_transfer: secondary_tiers[2]: root_dir is \"\", type fs needs a folder", root_fix],
		],
	},
	"no store": {
		"extra": {"secondary_tiers": [{"type": "obj", "store_config": {"bucket": "kv"}}, {"type": "obj"}]},
		"want": [
			["kv_transfer: secondary_tiers[0] has no endpoint_override in its store_config, type obj needs one", store_fix],
			["kv_transfer: secondary_tiers[1] has no bucket in its store_config, type obj needs one", store_fix],
			["kv_transfer: secondary_tiers[1] has no endpoint_override in its store_config, type obj needs one", store_fix],
		],
	},
	"no router": {
		"extra": {"secondary_tiers": [{"type": "kvcr", "router_capabilities": "prefix", "control_ports": []}]},
		"want": [
			["kv_transfer: secondary_tiers[0] has no router_capabilities, type kvcr needs a list of them", kvcr_fix],
			["kv_transfer: secondary_tiers[0] has no control_ports, type kvcr needs a list of them", kvcr_fix],
		],
	},
	"a threshold": {
		"extra": {"store_threshold": 2},
		"want": [["kv_transfer: store_threshold is 2, with tiers it may only be 0 or 1", threshold_fix]],
	},
	"a threshold that is no number": {
		"extra": {"store_threshold": "2"},
		"want": [["kv_transfer: store_threshold is \"2\", with tiers it may only be 0 or 1", threshold_fix]],
	},
}
