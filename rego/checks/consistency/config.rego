# METADATA
# title: One configuration
# description: >
#   All ranks of an engine must agree on parallel sizes, executor, nnodes, version and KV transfer; those that do not,
#   wait for groups that never form or write rows that others cannot read. Node rank, addresses and engine_id may
#   differ.
# custom:
#   enforcement: deny
#   missing: not_applicable
#   needs: [input.configurations]
#   docs: docs/checks.md#consistencyconfig
package tiergate.checks.consistency.config

applies := true

violations contains {
	"message": $"the configuration of {group.ranks} differs from that of {first.ranks}: {concat("; ", group.differs)}",
	"nodes": group.nodes,
	"fix": "start all workers of an engine with one configuration",
} if {
	some i, group in input.configurations
	i > 0
	first := input.configurations[0]
}

# The facts are there as a whole or not at all, which needs says.
unknown contains fact if some fact in []
