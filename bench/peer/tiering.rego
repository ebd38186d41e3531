package tiergate.peer

tiering_config := {
	"id": "tiering.config", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	tiered
	sound := [1 | sound_tiering(native[_])]
	count(sound) == count(native)
	count(sound) > 0
} else := {
	"id": "tiering.config", "enforcement": "deny", "outcome": "not_applicable", "violations": [], "missing": [],
} if {
	count(tiering) == 0
} else := {
	"id": "tiering.config", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	count(tier_faults) == 0
} else := {
	"id": "tiering.config", "enforcement": "deny", "outcome": "fail", "missing": [],
	"violations": [{"message": message, "fix": fix} | some [message, fix] in tier_faults],
}

# The usual case of all rules together: filesystem tiers only.
sound_tiering(extra) if {
	tiers := extra.secondary_tiers
	count([1 | tiers[i].type == "fs"; filled(tiers[i], "root_dir")]) == count(tiers)
	is_array(tiers)
	object.get(extra, "store_threshold", 0) == 0
}

tiering := {path: extra |
	some path, extra in native
	tiering_spec(extra)
}

tiering_spec(extra) if extra.spec_name == "TieringOffloadingSpec"

tiering_spec(extra) if not object.get(extra, "secondary_tiers", null) in {null, []}

tier_faults contains [$"{path}: secondary_tiers is no list", "write it as a list of tier objects, or remove it"] if {
	some path, extra in tiering
	not is_array(object.get(extra, "secondary_tiers", []))
}

tier_faults contains [
	$"{path}: store_threshold is {extra.store_threshold}, with tiers it may only be 0 or 1",
	"remove store_threshold",
] if {
	some path, extra in tiering
	not stores_all(object.get(extra, "store_threshold", 0))
}

stores_all(threshold) if {
	is_number(threshold)
	threshold < 2
}

tier_faults contains [$"{path}: secondary_tiers[{i}] {what}", fix] if {
	some path, extra in tiering
	is_array(extra.secondary_tiers)
	some i, tier in extra.secondary_tiers
	[what, fix] := type_fault(tier)
}

type_fault(tier) := ["is no object", "write each tier as an object with a type"] if {
	not is_object(tier)
} else := ["has no type", "set its type, or the name of a class with its module_path"] if {
	not filled(tier, "type")
} else := [
	$"has type {tier.type}, which vLLM does not know, and no module_path",
	"set its type to example, fs, kvcr, obj or p2p, or name its module_path",
] if {
	not known_type(tier.type)
	not filled(tier, "module_path")
}

known_type(type) if type in {"example", "fs", "kvcr", "obj", "p2p"}

known_type("fs_python") if startswith(input.engine.version, "0.22.")

tier_faults contains [$"{path}: secondary_tiers[{i}] of type {tier.type} lacks {key}", $"set {key}"] if {
	some path, extra in tiering
	is_array(extra.secondary_tiers)
	some i, tier in extra.secondary_tiers
	some key in lacking(tier)
}

lacking(tier) := [key | some key in ["root_dir"]; not filled(tier, key)] if {
	tier.type in {"fs", "fs_python"}
} else := [$"store_config.{key}" |
	some key in ["bucket", "endpoint_override"]
	not filled(object.get(tier, "store_config", {}), key)
] if {
	tier.type == "obj"
} else := [key | some key in ["router_capabilities", "control_ports"]; not filled_list(tier, key)] if {
	tier.type == "kvcr"
}

filled_list(object, key) if {
	is_array(object[key])
	count(object[key]) > 0
}
