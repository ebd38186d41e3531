package tiergate.peer

offload_config := {
	"id": "offload.config", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	sound_offload
} else := {
	"id": "offload.config", "enforcement": "deny", "outcome": "not_applicable", "violations": [], "missing": [],
} if {
	object.get(input.engine, "kv_transfer", null) == null
} else := {
	"id": "offload.config", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	count(offload_faults) == 0
} else := {
	"id": "offload.config", "enforcement": "deny", "outcome": "fail", "missing": [],
	"violations": [{"message": message, "fix": fix} | some [message, fix] in offload_faults],
}

# The usual case of all rules together: one connector, with a spec of vLLM's own and no chunk size, or in blocks.
sound_offload if {
	transfer := input.engine.kv_transfer
	transfer.kv_connector == "OffloadingConnector"
	transfer.kv_role in {"kv_both", "kv_producer", "kv_consumer"}
	extra := native.kv_transfer
	is_object(extra)
	bytes_given(extra)
	not extra.block_size
	whole(object.get(extra, "blocks_per_chunk", 1))
}

bytes_given(extra) if {
	is_number(extra.cpu_bytes_to_use)
	extra.cpu_bytes_to_use >= 1
	extra.cpu_bytes_to_use <= 9223372036854775807
}

whole(number) if {
	number >= 1
	number <= 1000000000
	floor(number) == number
}

offload_faults contains [$"{path}: not an object", "write it as an object with kv_connector and kv_role"] if {
	some path, connector in object.union({"kv_transfer": input.engine.kv_transfer}, connectors)
	not is_object(connector)
}

offload_faults contains [$"{path}: kv_connector is no name", "set kv_connector to the name of a connector"] if {
	some path, connector in connectors
	not named(path, connector)
}

named(_, connector) if {
	is_string(connector.kv_connector)
	connector.kv_connector != ""
}

named("kv_transfer", connector) if object.get(connector, "kv_connector", null) == null

offload_faults contains [
	$"{path}: kv_role is {object.get(connector, "kv_role", "not set")}",
	"set kv_role to kv_both, kv_producer or kv_consumer",
] if {
	some path, connector in connectors
	not role_fits(connector)
}

role_fits(connector) if connector.kv_role in {"kv_both", "kv_producer", "kv_consumer"}

role_fits(connector) if {
	object.get(connector, "kv_connector", null) == null
	object.get(connector, "kv_role", null) == null
}

offload_faults contains [$"{path}: kv_connector_extra_config is no object", "write it as an object"] if {
	some path, connector in connectors
	not is_object(object.get(connector, "kv_connector_extra_config", {}))
}

offload_faults contains ["kv_transfer: connectors is no list of objects", "list the children in connectors"] if {
	input.engine.kv_transfer.kv_connector == "MultiConnector"
	not children_listed
}

children_listed if {
	list := input.engine.kv_transfer.kv_connector_extra_config.connectors
	is_array(list)
	every child in list { is_object(child) }
}

offload_faults contains [
	$"{path}: spec_name is {object.get(extra, "spec_name", "not set")}, which vLLM does not know",
	"use CPUOffloadingSpec or TieringOffloadingSpec, or name the module in spec_module_path",
] if {
	some path, connector in connectors
	connector.kv_connector == "OffloadingConnector"
	extra := object.get(connector, "kv_connector_extra_config", {})
	not native[path]
	not filled(extra, "spec_module_path")
}

filled(object, key) if {
	is_string(object[key])
	object[key] != ""
}

offload_faults contains [
	$"{path}: cpu_bytes_to_use is {object.get(extra, "cpu_bytes_to_use", "not set")}",
	"set cpu_bytes_to_use to the bytes of one replica's region",
] if {
	some path, extra in native
	not bytes_given(extra)
}

offload_faults contains [$"{path}: block_size and blocks_per_chunk are both set", "keep one of them"] if {
	some path, extra in native
	object.get(extra, "block_size", null) != null
	object.get(extra, "blocks_per_chunk", null) != null
}

offload_faults contains [$"{path}: {key} is {number}", "set it to a whole number of at least 1"] if {
	some path, extra in native
	some key in ["block_size", "blocks_per_chunk"]
	number := object.get(extra, key, 1)
	number != null
	not whole(number)
}
