# METADATA
# title: Mirrored tiers only where the engine mirrors
# description: >
#   With mirror_source an engine copies the slots of remote ranks to the engine core's node, so that its groups may
#   span (vllm 62933, not merged). On an engine that does not know the key, or with what mirroring excludes, the slots
#   of remote ranks stay behind. The site says in settings.features.mirror for which engine versions it relies on it.
# custom:
#   enforcement: deny
#   missing: not_applicable
#   needs: [input.transfer, input.groups]
#   docs: docs/checks.md#tieringmirror
package tiergate.checks.tiering.mirror

import data.tiergate.mirror
import data.tiergate.unresolved

applies := false if {
	input.transfer.tiered == false
} else if {
	not input.transfer
} else if {
	mirror.requested
} else := false

violations contains {
	"message": $"mirror_source is set for groups that span nodes ({spanning}), but {hindrance}",
	"fix": "place all ranks of a replica on one host with one /dev/shm, or use an engine and a configuration that mirror",
} if {
	mirror.requested
	some hindrance in mirror.hindrances
	spanning := mirror.spanning
	spanning > 0
}

unknown contains reason if some reason in unresolved.transfer
