package tiergate.peer

nnodes := object.get(input.engine, "nnodes", 1)

default chosen_executor := ""

chosen_executor := input.engine.executor

executor := chosen_executor if {
	chosen_executor != ""
} else := "mp" if {
	nnodes > 1
} else := "uni" if {
	sizes.data * world == 1
} else := "ray" if {
	input.nodes[_].gpus < world
} else := "mp"

# How many replicas one host runs, and how many hosts that takes.
data_local := sizes.data_local if {
	true
} else := max([1, floor(sizes.data / max([1, nnodes]))])

hosts := floor(sizes.data / data_local) if {
	data_local > 0
	sizes.data % data_local == 0
}

parallel_config := {
	"id": "parallel.config", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	sound_parallel
} else := {
	"id": "parallel.config", "enforcement": "deny", "outcome": "fail", "missing": [],
	"violations": [{"message": message, "fix": fix} | some [message, fix] in parallel_faults],
} if {
	count(parallel_faults) > 0
} else := {
	"id": "parallel.config", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
}

# The usual case of all rules together: mp, and no prefill context parallelism.
sound_parallel if {
	grid := sizes
	grid.prefill_context == 1
	grid.decode_context > 0
	grid.tensor % grid.decode_context == 0
	executor == "mp"
	sound_nodes
}

sound_nodes if {
	nnodes == 1
	not sizes.data_local
	world > 0
} else if {
	nnodes > 0
	(world * sizes.data) % nnodes == 0
	nnodes % hosts == 0
	world % floor(nnodes / hosts) == 0
	data_local <= sizes.data
}

parallel_faults contains [$"{name} is {size}, vLLM needs at least 1", $"set {name} to 1 or more"] if {
	some name, size in object.union(sizes, {"nnodes": nnodes})
	size < 1
	[name, size] != ["data_local", 0]
}

parallel_faults contains [
	$"decode_context {sizes.decode_context} does not divide tensor {sizes.tensor}",
	"set decode_context to a divisor of tensor",
] if {
	sizes.prefill_context == 1
	sizes.decode_context > 1
	sizes.tensor % sizes.decode_context != 0
}

parallel_faults contains [
	$"decode_context is {sizes.decode_context} with prefill_context {sizes.prefill_context} and tensor {sizes.tensor}",
	"set decode_context to 1, prefill_context or tensor * prefill_context",
] if {
	sizes.prefill_context > 1
	sizes.decode_context > 0
	not sizes.decode_context in {1, sizes.prefill_context, sizes.tensor * sizes.prefill_context}
}

parallel_faults contains ["prefill_context with data parallelism", "set prefill_context or data to 1"] if {
	sizes.prefill_context > 1
	sizes.data > 1
}

parallel_faults contains ["pipeline with executor uni, which runs one worker", "use mp, ray or external_launcher"] if {
	executor == "uni"
	sizes.pipeline > 1
}

parallel_faults contains [$"executor {executor} is none that vLLM has", "use mp, ray, external_launcher or uni"] if {
	not executor in {"mp", "ray", "external_launcher", "uni"}
	not contains(executor, ".")
}

parallel_faults contains [$"executor {executor} cannot run {nnodes} nodes", "use mp, or leave nnodes out"] if {
	nnodes > 1
	not executor in {"mp", "uni", "external_launcher"}
}

parallel_faults contains [$"{nnodes} nodes do not divide {sizes.data * world} ranks", "set nnodes to a divisor"] if {
	nnodes > 1
	(sizes.data * world) % nnodes != 0
}

parallel_faults contains [$"data_local {data_local} does not divide data {sizes.data}", "use a divisor of data"] if {
	sizes.data_local > 0
	sizes.data % sizes.data_local != 0
}

parallel_faults contains [$"{nnodes} nodes do not divide into {hosts} hosts", "change nnodes or data_local"] if {
	nnodes > 1
	nnodes % hosts != 0
}

parallel_faults contains [
	$"{world} ranks of a replica do not divide over its nodes",
	"change nnodes or data_local",
] if {
	nnodes > 1
	(sizes.data * world) % nnodes == 0
	nnodes % hosts == 0
	world % floor(nnodes / hosts) != 0
}
