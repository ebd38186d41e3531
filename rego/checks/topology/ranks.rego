# METADATA
# title: The workers are the grid
# description: >
#   Every rank of the grid has one worker, and the groups that workers declare are the grid's lines. Otherwise nothing
#   that is said about groups is true of the engine that starts.
# custom:
#   enforcement: deny
#   missing: not_applicable
#   needs: [input.ranks]
#   docs: docs/checks.md#topologyranks
package tiergate.checks.topology.ranks

import data.tiergate.wording

default applies := false

applies if input.ranks

violations contains {
	"message": $"no worker for {count(missing)} of the {input.ranks.world} ranks of the grid: {wording.ranks(missing)}",
	"fix": $"list each rank from 0 to {input.ranks.world - 1} once (the global rank, not the local one)",
} if {
	missing := input.ranks.missing
	count(missing) > 0
}

violations contains {
	"message": $"rank {duplicate.rank} is claimed by several workers, on {wording.nodes(duplicate.nodes)}",
	"nodes": duplicate.nodes,
	"fix": "give every worker a rank of its own (the global rank, not the local one)",
} if {
	some duplicate in input.ranks.duplicate
}

violations contains {
	"message": $"outside the grid of ranks 0 to {input.ranks.world - 1}: {wording.ranks(outside)}",
	"fix": "correct the ranks, or the parallel sizes that the grid is made of",
} if {
	outside := input.ranks.out_of_range
	count(outside) > 0
}

violations contains {
	"message": $"rank {group.rank} declares {group.kind} group {group.declared}, in this grid it is {group.expected}",
	"group": {"kind": group.kind, "ranks": group.declared},
	"nodes": [group.node],
	"fix": "correct the group, or the parallel sizes and the order of ranks (TP fastest, then PCP, PP, DP)",
} if {
	some group in input.ranks.off_grid
	count(group.expected) > 0
}

violations contains {
	"message": $"rank {group.rank} declares {group.kind} group {group.declared}, but the grid has no {group.kind} groups",
	"group": {"kind": group.kind, "ranks": group.declared},
	"nodes": [group.node],
	"fix": "declare groups of kind tp, pp, pcp, dcp, dp or ep, as the engine's sizes make them",
} if {
	some group in input.ranks.off_grid
	count(group.expected) == 0
}

violations contains {
	"message": $"{more} more declared groups do not fit the grid",
	"fix": "correct the parallel sizes, or the order in which the launcher gives ranks",
} if {
	more := input.ranks.off_grid_more
	more > 0
}

# The facts are there as a whole or not at all, which needs says.
unknown contains fact if some fact in []
