# METADATA
# title: Groups stay in one node's shared memory
# description: >
#   Secondary KV tiers read and write only the shared region on the engine core's node. A rank elsewhere writes its
#   slots into another region, so tiers store rows without them and later load stale KV. Every TP, PP and PCP group of
#   a replica must therefore live in one memory domain (vllm 54415, 62930). DP and EP groups may cross.
# custom:
#   enforcement: deny
#   missing: unknown
#   needs: [input.transfer, input.engine.world_size, input.groups]
#   docs: docs/checks.md#tieringnode_local
package tiergate.checks.tiering.node_local

import data.tiergate.mirror
import data.tiergate.unresolved

applies := false if {
	input.transfer.tiered == false
} else := false if {
	# One worker has no group to span.
	input.engine.world_size == 1
} else := false if {
	mirror.in_force
} else := true

violations contains {
	"message": concat(" ", [
		$"secondary tiers need each {kind} group in one node's shared memory,",
		$"but {kind} group {group.ranks} spans {count(group.nodes)} nodes: {group.placed}",
	]),
	"group": {"kind": kind, "ranks": group.ranks},
	"nodes": group.nodes,
	"fix": "place all ranks of a replica on one host with one /dev/shm, or remove secondary_tiers",
} if {
	input.transfer.tiered
	some kind in ["tp", "pp", "pcp"]
	some group in input.groups[kind].spanning
}

unknown contains fact if {
	some kind in ["tp", "pp", "pcp"]
	some group in input.groups[kind].open
	some fact in group.missing
}

unknown contains fact if some fact in input.placement.missing

unknown contains reason if some reason in unresolved.transfer
