package tiergate.peer

node_local := {
	"id": "tiering.node_local", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	tiered
	world > 1
	count(crossing) == 0
} else := {
	"id": "tiering.node_local", "enforcement": "deny", "outcome": "not_applicable", "violations": [], "missing": [],
} if {
	not tiered
} else := {
	"id": "tiering.node_local", "enforcement": "deny", "outcome": "not_applicable", "violations": [], "missing": [],
} if {
	world == 1
} else := {
	"id": "tiering.node_local", "enforcement": "deny", "outcome": "not_applicable", "violations": [], "missing": [],
} if {
	mirror_in_force
} else := {
	"id": "tiering.node_local", "enforcement": "deny", "outcome": "fail", "violations": spans, "missing": unplaced,
} if {
	count(spans) > 0
} else := {
	"id": "tiering.node_local", "enforcement": "deny", "outcome": "unknown", "violations": [], "missing": unplaced,
}

spans := [{
	"message": message,
	"group": line,
	"nodes": {there[_] | true},
	"fix": "place every rank of the group on one node, or remove secondary_tiers",
} |
	some line in spanning
	there := [workers[line.ranks[_]].node | true]
	message := $"{line.kind} group of ranks {line.ranks} with secondary tiers spans memory domains, on nodes {there}"
]

spanning := apart if {
	count(known) == count(workers)
} else := [line |
	some line in apart
	proven_apart({workers[rank].node | some rank in line.ranks})
]

unplaced := ["workers: a node for every rank of the grid"] if {
	not ranks
} else := [] if {
	count(spanning) == count(apart)
} else := [fact |
	some line in apart
	nodes := {workers[rank].node | some rank in line.ranks}
	not proven_apart(nodes)
	some node in nodes
	some fact in missing_at(node)
]

# Lines that are not in one domain.
apart := array.flatten([tp_apart, pp_apart, pcp_apart])

tp_apart := [{"kind": "tp", "ranks": array.slice(ranks, rank, rank + size)} |
	size := sizes.tensor
	size > 1
	placed := domains
	some first in crossing
	some rank in numbers.range_step(first, (first + world) - 1, size)
	there := array.slice(placed, rank, rank + size)
	min(there) != max(there)
]

pp_apart := [{"kind": "pp", "ranks": line} |
	sizes.pipeline > 1
	stage := sizes.prefill_context * sizes.tensor
	placed := domains
	some first in crossing
	some rank in numbers.range(first, (first + stage) - 1)
	line := numbers.range_step(rank, (first + world) - 1, stage)
	there := [placed[line[_]] | true]
	min(there) != max(there)
]

pcp_apart := [{"kind": "pcp", "ranks": line} |
	sizes.prefill_context > 1
	stage := sizes.prefill_context * sizes.tensor
	placed := domains
	some first in crossing
	some slab in numbers.range_step(first, (first + world) - 1, stage)
	some rank in numbers.range(slab, (slab + sizes.tensor) - 1)
	line := numbers.range_step(rank, (slab + stage) - 1, sizes.tensor)
	there := [placed[line[_]] | true]
	min(there) != max(there)
]

# Facts by node id; a node that is only named by a worker has none.
facts := {input.nodes[i].id: input.nodes[i] | true}

# Two boot ids prove it, or two devices under one boot id. At launch, so do two nodes without boot ids, unless both
# mount the host's own /dev/shm.
proven_apart(nodes) if count({facts[node].boot_id | some node in nodes}) > 1

proven_apart(nodes) if {
	count({facts[node].boot_id | some node in nodes}) == 1
	count({facts[node].shm.device | some node in nodes; facts[node].boot_id}) > 1
}

proven_apart(nodes) if {
	blind := {node | some node in nodes; not facts[node].boot_id}
	count(blind) > 1
	some node in blind
	not facts[node].shm.host
}

missing_at(node) := [$"boot_id of node {node}"] if {
	not facts[node].boot_id
} else := [$"shm.device of node {node}"] if {
	not facts[node].shm.device
} else := []
