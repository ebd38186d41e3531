# METADATA
# title: No leftover CPU regions
# description: >
#   An engine that was killed leaves its region file behind; in a /dev/shm that outlives the process, such as a pod's
#   emptyDir, each restart finds less room until none fits (vllm 54002, 57303).
# custom:
#   enforcement: warn
#   missing: not_applicable
#   needs: [input.domains]
#   docs: docs/checks.md#capacitystale_regions
package tiergate.checks.capacity.stale_regions

import data.tiergate.capacity
import data.tiergate.wording

applies := false if {
	input.transfer.given == false
} else := true

violations contains {
	"message": concat(" ", [
		$"{wording.nodes(domain.nodes)}: {wording.size(stale.bytes)} of /dev/shm in {capacity.leftovers(stale)}:",
		concat(", ", stale.names),
	]),
	"nodes": domain.nodes,
	"fix": "remove /dev/shm/vllm_offload_*.mmap there while no engine runs on that /dev/shm",
} if {
	some domain in input.domains
	stale := domain.stale_regions
	stale.count > 0
}

unknown contains $"shm.stale_regions of {wording.nodes(domain.nodes)}" if {
	some domain in input.domains
	not domain.stale_regions
	capacity.used(domain)
}
