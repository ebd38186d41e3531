# METADATA
# title: The engine core shares memory with its first rank
# description: >
#   The engine core opens the CPU region of its own node and hands it to the secondary tiers. On another node than its
#   ranks it finds a region that no worker writes to, and stores and loads nothing but stale bytes. Ray and external
#   launchers may put it there, e.g. on a head node without GPUs. At KV registration the core answers for itself.
# custom:
#   enforcement: deny
#   missing: unknown
#   needs: [input.transfer, input.core]
#   docs: docs/checks.md#tieringcore_local
package tiergate.checks.tiering.core_local

import data.tiergate.unresolved

applies := false if {
	input.transfer.tiered == false
} else := false if {
	input.stage == "registration"
} else := true

violations contains {
	"message": concat(" ", [
		$"secondary tiers read the shared memory of the engine core's node {core.core_node},",
		$"but rank {core.first_rank}, the first of replica {core.replica}, is on {core.rank_node}, which does not share it",
	]),
	"nodes": [core.core_node, core.rank_node],
	"fix": $"start this engine core on {core.rank_node} with the same /dev/shm, or remove secondary_tiers",
} if {
	input.transfer.tiered
	some core in input.core.remote
}

unknown contains fact if {
	some core in input.core.open
	some fact in core.missing
}

unknown contains reason if some reason in unresolved.transfer
