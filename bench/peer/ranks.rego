package tiergate.peer

topology_ranks := {
	"id": "topology.ranks", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	ranks
	not groups_declared
} else := {
	"id": "topology.ranks", "enforcement": "deny", "outcome": "not_applicable", "violations": [], "missing": [],
} if {
	not world
} else := {
	"id": "topology.ranks", "enforcement": "deny", "outcome": "fail", "violations": rank_faults, "missing": [],
} if {
	count(rank_faults) > 0
} else := {
	"id": "topology.ranks", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
}

groups_declared if input.workers[_].groups

rank_faults := off_grid if {
	ranks
} else := array.concat(array.concat(outside, repeated), array.concat(absent, off_grid))

total := sizes.data * world

outside := [{
	"message": message,
	"nodes": [worker.node],
	"fix": fix,
} |
	some worker in input.workers
	not within(worker.rank)
	message := $"rank {worker.rank} is not in the grid of {total} ranks"
	fix := $"use ranks 0 to {total - 1}"
]

within(rank) if {
	rank >= 0
	rank < total
}

repeated := [{
	"message": message,
	"nodes": nodes,
	"fix": "give every worker a rank of its own",
} |
	tally := sort(declared)
	some rank in {rank | some i, rank in tally; tally[i + 1] == rank}
	nodes := [node | some node in {worker.node | some worker in input.workers; worker.rank == rank}]
	on := concat(", ", nodes)
	message := $"rank {rank} is declared by several workers, on {on}"
]

# A hostile grid may lack billions of ranks; as many as there are workers are named.
absent := [{
	"message": message,
	"nodes": [],
	"fix": "declare every rank of the grid once",
} |
	inside := {rank | some rank in declared; within(rank)}
	lacking := total - count(inside)
	lacking > 0
	missing := [rank |
		some rank in numbers.range(0, min([total - 1, 2 * count(declared)]))
		not inside[rank]
	]
	message := $"{lacking} of {total} ranks are missing: {missing}"
]

off_grid := [{
	"message": message,
	"group": {"kind": kind, "ranks": line},
	"nodes": [worker.node],
	"fix": "declare the groups of the engine's own grid",
} |
	groups_declared
	some worker in input.workers
	some kind, line in worker.groups
	not fits_grid(kind, worker.rank, sort(line))
	message := $"rank {worker.rank} declares {kind} group {line}, which is not its line of the grid"
]

fits_grid("tp", rank, line) if line == strided(rank - (rank % sizes.tensor), sizes.tensor, 1)

fits_grid("dcp", rank, line) if {
	size := sizes.decode_context
	line == strided(rank - (rank % size), size, 1)
}

# Newer engines cut DCP groups from the ranks of a stage with the prefill context fastest.
fits_grid("dcp", rank, line) if {
	sizes.prefill_context > 1
	base := rank - (rank % (sizes.prefill_context * sizes.tensor))
	column := [member |
		some t in numbers.range(0, sizes.tensor - 1)
		some c in numbers.range(0, sizes.prefill_context - 1)
		member := (base + (c * sizes.tensor)) + t
	]
	some at, member in column
	member == rank
	first := at - (at % sizes.decode_context)
	line == sort(array.slice(column, first, first + sizes.decode_context))
}

fits_grid("pcp", rank, line) if {
	stage := sizes.prefill_context * sizes.tensor
	line == strided((rank - (rank % stage)) + (rank % sizes.tensor), sizes.prefill_context, sizes.tensor)
}

fits_grid("pp", rank, line) if {
	stage := sizes.prefill_context * sizes.tensor
	line == strided((rank - (rank % world)) + (rank % stage), sizes.pipeline, stage)
}

fits_grid("dp", rank, line) if line == strided(rank % world, sizes.data, world)

fits_grid("ep", rank, line) if {
	stage := sizes.prefill_context * sizes.tensor
	base := (rank % world) - (rank % stage)
	line == [member |
		some d in numbers.range(0, sizes.data - 1)
		some member in strided((d * world) + base, stage, 1)
	]
}

strided(first, length, stride) := numbers.range_step(first, first + ((length - 1) * stride), stride)
