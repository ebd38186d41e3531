package tiergate.peer

# Sizes of the grid; rank = (((dp*PP + p)*PCP + c)*TP) + t.
sizes := object.union(
	{"tensor": 1, "pipeline": 1, "prefill_context": 1, "decode_context": 1, "data": 1},
	object.get(input.engine, "parallel", {}),
)

# The ranks of one replica; undefined where the sizes make no grid.
world := (grid.pipeline * grid.prefill_context) * grid.tensor if {
	grid := sizes
	grid.tensor > 0
	grid.pipeline > 0
	grid.prefill_context > 0
	grid.data > 0
}

declared := [input.workers[_].rank | true]

in_order if {
	count(declared) == sizes.data * world
	declared == [i | input.workers[i]]
}

# Every rank once, and the workers in rank order; undefined unless the workers are exactly the grid.
ranks := declared if {
	in_order
} else := sorted if {
	count(declared) == sizes.data * world
	sorted := sort(declared)
	sorted == [i | input.workers[i]]
}

workers := input.workers if {
	in_order
} else := [input.workers[entry[1]] | some entry in sort([[rank, i] | some i, rank in declared])] if {
	ranks
}

# A memory domain is a boot id and a /dev/shm device. A node that lacks either has no entry here.
located := {input.nodes[i].id: concat(" ", [input.nodes[i].boot_id, input.nodes[i].shm.device]) | true}

# The domain of every rank; undefined unless every rank has a node. A node that is not located gets a name of its own,
# which is no known domain's, and is looked at closely only where a line is not on one node.
domains := known if {
	count(known) == count(workers)
} else := [object.get(located, worker.node, concat("", ["?", worker.node])) | some worker in workers] if {
	ranks
}

known := [placed[workers[_].node] |
	placed := located
]

# The first ranks of the replicas that live in more than one domain. TP, PP and PCP lines connect all ranks of a
# replica, so these are the replicas with a line that is not in one domain.
crossing := [] if {
	min(domains) == max(domains)
} else := [first |
	placed := domains
	size := world
	some first in numbers.range_step(0, count(placed) - 1, size)
	there := array.slice(placed, first, first + size)
	min(there) != max(there)
] if {
	ranks
}

tp_lines := [{"kind": "tp", "ranks": array.slice(all_ranks, first, first + size)} |
	size := sizes.tensor
	size > 1
	all_ranks := ranks
	some first in numbers.range_step(0, count(all_ranks) - 1, size)
]

pp_lines := [{"kind": "pp", "ranks": numbers.range_step(rank, last, stage)} |
	sizes.pipeline > 1
	stage := sizes.prefill_context * sizes.tensor
	size := world
	all_ranks := ranks
	some first in numbers.range_step(0, count(all_ranks) - 1, size)
	last := (first + size) - 1
	some rank in array.slice(all_ranks, first, first + stage)
]

pcp_lines := [{"kind": "pcp", "ranks": numbers.range_step(rank, last, sizes.tensor)} |
	sizes.prefill_context > 1
	stage := sizes.prefill_context * sizes.tensor
	all_ranks := ranks
	some first in numbers.range_step(0, count(all_ranks) - 1, stage)
	last := (first + stage) - 1
	some rank in array.slice(all_ranks, first, first + sizes.tensor)
]
