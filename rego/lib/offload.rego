# What a KV transfer configuration offloads, and whether vLLM would read it. Values of a wrong JSON type in the frame
# of a configuration (connectors, their names and extra configurations) are refusals of the engine already.
package tiergate.offload

import data.tiergate.connector

# native is true where the engine creates region files at all.
native if {
	some owner in input.transfer.connectors
	owner.native
	owner.cpu_bytes > 0
}

# region is the size of a replica's region files, bytes, 0 without a native offload.
region := sum([owner.cpu_bytes | some owner in input.transfer.connectors; owner.native])

# odd are the connectors that the rules of offload.config look at one by one. Most launches have none.
odd := [owner | some owner in input.transfer.connectors; not usual(owner)]

# usual is true for a connector that none of these rules objects to: a native spec with its size, whatever else.
usual(owner) if {
	owner.native
	owner.config.kv_role == "kv_both"
	owner.cpu_bytes > 0
	owner.cpu_bytes < 9223372036854775807
	not connector.given(owner, "block_size")
	counted(owner, "blocks_per_chunk")
}

# named is false for a child of a MultiConnector that names no connector. On top, that means no transfer at all. A
# child that is no object is refused by the engine.
named(owner) if owner.name != ""

named(owner) if not contains(owner.path, "connectors[")

named(owner) if not is_object(owner.config)

# role is true for a valid kv_role, and where none is needed because no connector is named.
role(config) if config.kv_role == "kv_both"

role(config) if config.kv_role == "kv_producer"

role(config) if config.kv_role == "kv_consumer"

role(config) if {
	not present(config, "kv_connector")
	not present(config, "kv_role")
}

present(object, key) if object[key] != null

# spec is true unless an OffloadingConnector names a spec that vLLM neither has nor can load.
spec(owner) if owner.native

spec(owner) if owner.name != "OffloadingConnector"

spec(owner) if connector.filled(owner.config.kv_connector_extra_config, "spec_module_path")

spec(owner) if connector.filled(owner.config, "kv_connector_module_path")

# sized is true where vLLM's own specs know the size of their region. The largest integer stands for anything larger.
sized(owner) if not owner.native

# An extra configuration that is no object is refused by the engine, and that is enough.
sized(owner) if {
	present(owner.config, "kv_connector_extra_config")
	not is_object(owner.config.kv_connector_extra_config)
}

sized(owner) if {
	owner.cpu_bytes > 0
	owner.cpu_bytes < 9223372036854775807
}

# counted is true for a key that is not given or a whole number of at least 1.
counted(owner, key) if not connector.given(owner, key)

counted(owner, key) if {
	number := owner.config.kv_connector_extra_config[key]
	is_number(number)
	number >= 1
	number <= 1000000000
	floor(number) == number
}

# sizing says how to set cpu_bytes_to_use; num_cpu_blocks is what the key was before vLLM counted in bytes (vllm
# 24498).
sizing(owner) := concat(" ", [
	"replace num_cpu_blocks, which vLLM no longer reads, with cpu_bytes_to_use:",
	"the bytes for all workers of a replica together",
]) if {
	connector.given(owner, "num_cpu_blocks")
} else := "set cpu_bytes_to_use to the bytes for all workers of a replica together, e.g. 10737418240 for 10 GiB"
