# How vLLM reads parallel sizes: what it fills in for those that are not given, and what they make together.
package tiergate.parallel

# usual is true for launches like most: without context parallelism and load balancing modes, and with sizes that
# divide. No rule of parallel.config objects to one, so that none needs to be asked; a test holds the two together.
usual if {
	engine := input.engine
	not engine.external_lb
	not engine.hybrid_lb
	not engine.data_rank
	not engine.data_start_rank
	sizes := engine.parallel
	sizes.tensor > 0
	sizes.pipeline > 0
	sizes.prefill_context == 1
	sizes.decode_context == 1
	sizes.data > 0
	engine.node_rank >= 0
	engine.node_rank < engine.nnodes
	able(engine, sizes)
	even(engine, sizes)
}

able(engine, _) if {
	engine.executor == "mp"
	engine.data_backend == "mp"
}

able(engine, sizes) if {
	engine.nnodes == 1
	sizes.pipeline == 1
}

# One node, or nodes that each run whole replicas on their own.
even(engine, sizes) if {
	engine.nnodes == 1
	whole(sizes)
}

# One replica in equal parts.
even(engine, sizes) if {
	engine.nnodes > 1
	sizes.data == 1
	not sizes.data_local
	engine.world_size % engine.nnodes == 0
}

# Equal groups of nodes that run as many replicas each.
even(engine, sizes) if {
	engine.nnodes > 1
	sizes.data_local > 0
	whole(sizes)
	groups := sizes.data / sizes.data_local
	engine.nnodes % groups == 0
	engine.world_size % (engine.nnodes / groups) == 0
}

whole(sizes) if not sizes.data_local

whole(sizes) if {
	sizes.data_local > 0
	sizes.data % sizes.data_local == 0
}

# local is how many whole replicas one node runs, as vLLM fills it in; 0 is a node that runs none. Undefined where it
# is not known yet.
local := 1 if external

local := input.engine.parallel.data_local if not external

local := input.engine.parallel.data if {
	input.engine.nnodes == 1
	defaulted
	not external
}

local := max([floor(input.engine.parallel.data / input.engine.nnodes), 1]) if {
	input.engine.nnodes > 1
	defaulted
	not external
}

# defaulted is true where data_parallel_size_local is not given and will not be.
defaulted if {
	not input.engine.parallel.data_local
	not later("engine.parallel.data_local")
}

# external is true where every replica is a process of its own behind the site's load balancer: by the flag, or
# because the process is told its own data parallel rank.
external if input.engine.external_lb

external if input.engine.data_rank

external if ranked_later

ranked_later if later("engine.data_rank")

later(setting) if {
	some unresolved in input.engine.unresolved
	unresolved.setting == setting
}

# ranks is their number over all replicas.
ranks := input.engine.world_size * input.engine.parallel.data

# hosts is how many nodes, or with nnodes equal groups of nodes, the replicas are spread over.
hosts := floor(input.engine.parallel.data / local) if {
	local > 0
	input.engine.parallel.data > 0
	input.engine.parallel.data % local == 0
}

# within tells a number in [0, size).
within(number, size) if {
	number >= 0
	number < size
}

# zero_local is vLLM's sign for a node without replicas, the one size that may be 0.
zero_local("data_local", 0) := true

# divisors lists what divides a size, for people: "1, 2, 4 or 8". A long list helps nobody.
divisors(size) := "1" if {
	size == 1
} else := $"{concat(", ", array.slice(list, 0, count(list) - 1))} or {size}" if {
	size > 1
	size <= 1024
	list := [$"{n}" | some n in numbers.range(1, size); size % n == 0]
} else := $"a divisor of {size}"
