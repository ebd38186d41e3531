# METADATA
# title: KV offloading is configured as vLLM reads it
# description: >
#   What vLLM refuses in --kv-transfer-config and --kv-offloading-size, for the connector and, behind a
#   MultiConnector, its children. Keys of kv_connector_extra_config are checked for vLLM's own offloading specs; a
#   spec loaded by module path has its own, and of other connectors only the role is known.
# custom:
#   enforcement: deny
#   missing: not_applicable
#   needs: [input.transfer]
#   docs: docs/checks.md#offloadconfig
package tiergate.checks.offload.config

import data.tiergate.connector
import data.tiergate.offload
import data.tiergate.refused
import data.tiergate.unresolved
import data.tiergate.wording

applies := false if {
	input.transfer.given == false
	not refused.by["offload.config"]
} else := true

violations contains {
	"message": $"{owner.path} names no kv_connector",
	"fix": "name the connector of each child of a MultiConnector, e.g. OffloadingConnector",
} if {
	some owner in offload.odd
	not offload.named(owner)
}

violations contains {
	"message": $"{owner.path}: kv_role is {wording.member(owner.config, "kv_role")}, a connector needs one",
	"fix": "set kv_role to kv_both, kv_producer or kv_consumer, also in each child of a MultiConnector",
} if {
	some owner in offload.odd
	not offload.role(owner.config)
}

violations contains {
	"message": concat(" ", [
		$"{owner.path}: spec_name is {connector.shown(owner, "spec_name")},",
		"which vLLM does not have, and spec_module_path is not set",
	]),
	"fix": "set spec_name to CPUOffloadingSpec or TieringOffloadingSpec, or spec_module_path to the module of the class",
} if {
	some owner in offload.odd
	not offload.spec(owner)
}

violations contains {
	"message": concat(" ", [
		$"{owner.path}: cpu_bytes_to_use is {connector.shown(owner, "cpu_bytes_to_use")},",
		$"{owner.spec} needs a number of bytes between 1 and 2^63",
	]),
	"fix": offload.sizing(owner),
} if {
	some owner in offload.odd
	not offload.sized(owner)
}

violations contains {
	"message": concat(" and ", [
		$"{owner.path}: block_size is {connector.shown(owner, "block_size")}",
		$"blocks_per_chunk is {connector.shown(owner, "blocks_per_chunk")}, they exclude each other",
	]),
	"fix": "keep blocks_per_chunk (GPU blocks per chunk) or block_size (tokens per chunk)",
} if {
	some owner in offload.odd
	owner.native
	connector.given(owner, "block_size")
	connector.given(owner, "blocks_per_chunk")
}

violations contains {
	"message": $"{owner.path}: {key} is {connector.shown(owner, key)}, vLLM needs a whole number of at least 1",
	"fix": $"set {key} to 1 or more, or remove it",
} if {
	some owner in offload.odd
	owner.native
	some key in ["block_size", "blocks_per_chunk"]
	not offload.counted(owner, key)
}

violations contains violation if some violation in refused.by["offload.config"]

unknown contains reason if some reason in unresolved.transfer
