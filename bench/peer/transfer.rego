package tiergate.peer

# The configured connectors by path: the transfer itself and, behind a MultiConnector, its children.
connectors := object.union({"kv_transfer": input.engine.kv_transfer}, children) if {
	input.engine.kv_transfer.kv_connector == "MultiConnector"
} else := {"kv_transfer": input.engine.kv_transfer} if {
	configured
} else := {}

children[$"kv_transfer.kv_connector_extra_config.connectors[{i}]"] := child if {
	some i, child in input.engine.kv_transfer.kv_connector_extra_config.connectors
}

configured if {
	input.engine.kv_transfer != null
	is_object(input.engine.kv_transfer)
}

# Anything but an absent, null or empty list, whatever the connector and the spec.
tiered if {
	tiers := connectors[_].kv_connector_extra_config.secondary_tiers
	not tiers in {null, []}
}

# The extra configuration of vLLM's own offloading specs, whose keys are known, by path. A connector class of its own
# is loaded by kv_connector_module_path.
native := {path: extra |
	some path, connector in connectors
	connector.kv_connector == "OffloadingConnector"
	object.get(connector, "kv_connector_module_path", null) == null
	extra := object.get(connector, "kv_connector_extra_config", {})
	object.get(extra, "spec_name", "CPUOffloadingSpec") in {"CPUOffloadingSpec", "TieringOffloadingSpec"}
}

# Bytes of the region files of one replica in each domain where it has a rank.
region := sum([bytes |
	bytes := native[_].cpu_bytes_to_use
	is_number(bytes)
	bytes > 0
])
