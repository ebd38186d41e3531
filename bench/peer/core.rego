package tiergate.peer

# Without core, mp and uni put it beside the replica's first rank, and one domain leaves no choice to the others.
core_local := {
	"id": "tiering.core_local", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	tiered
	not input.core
	executor in {"mp", "uni"}
	world
} else := {
	"id": "tiering.core_local", "enforcement": "deny", "outcome": "not_applicable", "violations": [], "missing": [],
} if {
	not tiered
} else := {
	"id": "tiering.core_local", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	ranks
	input.core
	count(distant) == 0
} else := {
	"id": "tiering.core_local", "enforcement": "deny", "outcome": "fail", "violations": remote_cores, "missing": [],
} if {
	count(remote_cores) > 0
} else := {
	"id": "tiering.core_local", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	world
	count({object.get(located, input.nodes[i].id, input.nodes[i].id) | true}) == 1
} else := {
	"id": "tiering.core_local", "enforcement": "deny", "outcome": "unknown", "violations": [],
	"missing": [fact | some fact in missing_core],
}

core_domain := object.get(located, input.core.node, concat("", ["?", input.core.node]))

# First ranks that are not in the core's domain.
distant := [first |
	there := core_domain
	some first in numbers.range_step(0, count(domains) - 1, world)
	domains[first] != there
]

remote_cores := [{
	"message": message,
	"nodes": [input.core.node, node],
	"fix": fix,
} |
	some first in distant
	node := workers[first].node
	proven_apart({node, input.core.node})
	message := $"engine core on {input.core.node} shares no memory with rank {first} on {node}"
	fix := $"run the engine core on {node}, or place rank {first} on {input.core.node}"
]

missing_core contains "core: the node of the engine core" if not input.core

missing_core contains "workers: a node for every rank of the grid" if not ranks

missing_core contains fact if {
	some first in distant
	some node in [workers[first].node, input.core.node]
	some fact in missing_at(node)
}
