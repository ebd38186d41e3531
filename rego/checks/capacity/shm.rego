# METADATA
# title: The CPU region fits
# description: >
#   Each replica creates its whole region file in the /dev/shm of every memory domain where it has a rank, and
#   populates all of it where its engine core is and its ranks' slots elsewhere. vLLM looks at free space only, when
#   it creates the file (vllm 46949); memory limits end the container later (vllm 53042).
# custom:
#   enforcement: deny
#   missing: not_applicable
#   needs: [input.transfer, input.domains]
#   docs: docs/checks.md#capacityshm
package tiergate.checks.capacity.shm

import data.tiergate.capacity
import data.tiergate.offload
import data.tiergate.unresolved
import data.tiergate.wording

applies if {
	not input.transfer
} else if {
	offload.native
} else := false

violations contains {
	"message": $"{capacity.need(domain)}, {wording.size(domain.shm_free_bytes)} are free",
	"nodes": domain.nodes,
	"fix": capacity.remedy(domain),
} if {
	some domain in input.domains
	domain.shm_free_bytes < domain.region_bytes
}

violations contains {
	"message": $"{capacity.need(domain)}, which holds {wording.size(domain.shm_total_bytes)} in all",
	"nodes": domain.nodes,
	"fix": capacity.resize(domain, domain.shm_total_bytes),
} if {
	some domain in input.domains
	not domain.shm_free_bytes
	domain.shm_total_bytes < domain.region_bytes
}

violations contains {
	"message": concat(" ", [
		$"{wording.nodes(domain.nodes)}: the populated part of the CPU regions takes {wording.size(domain.resident_bytes)}",
		$"of memory, the limit is {wording.size(domain.memory_limit_bytes)}",
	]),
	"nodes": domain.nodes,
	"fix": "raise the memory limit above that and what the engine itself needs, or lower cpu_bytes_to_use",
} if {
	some domain in input.domains
	domain.memory_limit_bytes < domain.resident_bytes
}

unknown contains $"shm.free_bytes of {wording.nodes(domain.nodes)}" if {
	some domain in input.domains
	not domain.shm_free_bytes
	capacity.used(domain)
}

unknown contains fact if some fact in input.placement.missing

unknown contains reason if some reason in unresolved.transfer
