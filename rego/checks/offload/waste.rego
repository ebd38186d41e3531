# METADATA
# title: CPU offload on one node does not pay for ranks elsewhere
# description: >
#   The region file of a replica has a slot for every rank of its world, and each node creates the whole file, though
#   only the slots of its own ranks are ever used there (vllm 53474). Of engines with tiers, tiering.node_local says
#   more.
# custom:
#   enforcement: warn
#   missing: not_applicable
#   needs: [input.transfer, input.replicas, input.engine.world_size]
#   docs: docs/checks.md#offloadwaste
package tiergate.checks.offload.waste

import data.tiergate.offload
import data.tiergate.unresolved
import data.tiergate.wording

applies if {
	not input.transfer
} else := false if {
	input.transfer.tiered
} else if {
	offload.native
} else := false

violations contains {
	"message": concat(" ", [
		$"replica {replica.replica} reserves {wording.size(offload.region)} of shared memory",
		$"in each of {replica.domains} places ({wording.nodes(replica.nodes)}),",
		$"where at most {replica.largest_share} of its {input.engine.world_size} ranks write",
	]),
	"nodes": replica.nodes,
	"fix": "place each replica on one host, or count on cpu_bytes_to_use being taken once per host",
} if {
	offload.native
	some replica in input.replicas.spanning
}

unknown contains reason if some reason in unresolved.transfer
