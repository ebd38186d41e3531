# METADATA
# title: One engine version
# description: >
#   Workers of different engine versions lay out KV memory and name tier files differently; what one writes another
#   misreads.
# custom:
#   enforcement: deny
#   missing: not_applicable
#   needs: [input.versions]
#   docs: docs/checks.md#consistencyversions
package tiergate.checks.consistency.versions

applies := true

violations contains {
	"message": $"engine version {group.version} on {group.ranks}, but {first.version} on {first.ranks}",
	"nodes": group.nodes,
	"fix": "start all workers of an engine from one image",
} if {
	some i, group in input.versions
	i > 0
	first := input.versions[0]
}

# The facts are there as a whole or not at all, which needs says.
unknown contains fact if some fact in []
