# METADATA
# title: Parallel sizes are ones that vLLM accepts
# description: >
#   vLLM's own rules for sizes, nodes, executors and data parallel modes (ParallelConfig and EngineArgs). It checks
#   some of them only after it has read the model, and some divisions not at all, which ends in ranks that wait for
#   each other.
# custom:
#   enforcement: deny
#   missing: not_applicable
#   needs:
#     - input.engine.parallel.tensor
#     - input.engine.parallel.pipeline
#     - input.engine.parallel.prefill_context
#     - input.engine.parallel.decode_context
#     - input.engine.parallel.data
#     - input.engine.nnodes
#   docs: docs/checks.md#parallelconfig
package tiergate.checks.parallel.config

import data.tiergate.parallel
import data.tiergate.refused
import data.tiergate.unresolved

applies := true

violations contains {
	"message": $"parallel size {name} is {size}, vLLM needs at least 1",
	"fix": $"set {name} to 1 or more",
} if {
	not parallel.usual
	some name, size in input.engine.parallel
	size < 1
	not parallel.zero_local(name, size)
}

violations contains {
	"message": $"TP={sizes.tensor} DCP={sizes.decode_context}: decode context must divide tensor parallelism",
	"fix": $"set decode_context to {parallel.divisors(sizes.tensor)}",
} if {
	not parallel.usual
	sizes := input.engine.parallel
	sizes.tensor > 0
	sizes.prefill_context == 1
	sizes.decode_context > 1
	sizes.tensor % sizes.decode_context != 0
}

violations contains {
	"message": concat(" ", [
		$"TP={sizes.tensor} PCP={sizes.prefill_context} DCP={sizes.decode_context}:",
		"with prefill context parallelism, decode context must be off, span that axis, or span it and all of TP",
	]),
	"fix": $"set decode_context to 1, {sizes.prefill_context} or {sizes.tensor * sizes.prefill_context}",
} if {
	not parallel.usual
	sizes := input.engine.parallel
	sizes.prefill_context > 1
	sizes.decode_context > 0
	not sizes.decode_context in [1, sizes.prefill_context, sizes.tensor * sizes.prefill_context]
}

violations contains {
	"message": $"PCP={sizes.prefill_context} DP={sizes.data}: prefill context parallelism excludes data parallelism",
	"fix": "set prefill_context or data to 1",
} if {
	not parallel.usual
	sizes := input.engine.parallel
	sizes.prefill_context > 1
	sizes.data > 1
}

violations contains {
	"message": $"PP={input.engine.parallel.pipeline} with executor uni, which runs one worker",
	"fix": "use executor mp, ray or external_launcher",
} if {
	not parallel.usual
	input.engine.executor == "uni"
	input.engine.parallel.pipeline > 1
}

violations contains {
	"message": $"nnodes is {input.engine.nnodes}, vLLM needs at least 1",
	"fix": "set nnodes to the number of nodes of the launch",
} if {
	not parallel.usual
	input.engine.nnodes < 1
}

violations contains {
	"message": $"node_rank is {rank}, with nnodes={nnodes} it is one of 0 to {nnodes - 1}",
	"fix": "number the nodes from 0, or correct nnodes",
} if {
	not parallel.usual
	nnodes := input.engine.nnodes
	rank := input.engine.node_rank
	nnodes > 0
	not parallel.within(rank, nnodes)
}

violations contains {
	"message": $"nnodes={nnodes} with executor {executor}, which cannot run one engine on several nodes by nnodes",
	"fix": "use executor mp, or leave nnodes out: Ray finds its nodes itself",
} if {
	not parallel.usual
	nnodes := input.engine.nnodes
	nnodes > 1
	executor := input.engine.executor
	not executor in ["mp", "uni", "external_launcher"]
}

violations contains {
	"message": $"nnodes={nnodes} with data parallel backend {backend}, which cannot run on several nodes by nnodes",
	"fix": "use data parallel backend mp, or leave nnodes out: Ray finds its nodes itself",
} if {
	not parallel.usual
	nnodes := input.engine.nnodes
	nnodes > 1
	backend := input.engine.data_backend
	backend != "mp"
}

violations contains {
	"message": $"nnodes={nnodes} does not divide the {parallel.ranks} ranks of the launch (DP*PP*PCP*TP)",
	"fix": $"set nnodes to {parallel.divisors(parallel.ranks)}, or change the sizes",
} if {
	not parallel.usual
	nnodes := input.engine.nnodes
	nnodes > 1
	parallel.ranks % nnodes != 0
}

violations contains {
	"message": $"data_parallel_size_local={parallel.local} is more than DP={replicas}",
	"fix": $"set data_parallel_size_local to at most {replicas}",
} if {
	not parallel.usual
	replicas := input.engine.parallel.data
	replicas > 0
	parallel.local > replicas
}

violations contains {
	"message": $"DP={replicas} is not a multiple of data_parallel_size_local={parallel.local}",
	"fix": $"set data_parallel_size_local to {parallel.divisors(replicas)}",
} if {
	not parallel.usual
	replicas := input.engine.parallel.data
	parallel.local > 0
	parallel.local <= replicas
	replicas % parallel.local != 0
}

violations contains {
	"message": concat(" ", [
		$"DP={input.engine.parallel.data} with {parallel.local} per node needs {parallel.hosts} equal groups of nodes,",
		$"into which nnodes={nnodes} does not divide",
	]),
	"fix": $"set nnodes to a multiple of {parallel.hosts}, or change data_parallel_size_local",
} if {
	not parallel.usual
	nnodes := input.engine.nnodes
	nnodes > 1
	parallel.ranks % nnodes == 0
	nnodes % parallel.hosts != 0
}

violations contains {
	"message": $"each replica has {nodes} of the nnodes={nnodes} nodes, over which its {world} ranks do not divide",
	"fix": $"give each replica {parallel.divisors(world)} nodes, or change data_parallel_size_local",
} if {
	not parallel.usual
	nnodes := input.engine.nnodes
	nnodes > 1
	parallel.ranks % nnodes == 0
	nnodes % parallel.hosts == 0
	nodes := floor(nnodes / parallel.hosts)
	world := input.engine.world_size
	world % nodes != 0
}

violations contains {
	"message": "external and hybrid load balancing are both on, they exclude each other",
	"fix": "keep --data-parallel-external-lb or --data-parallel-hybrid-lb",
} if {
	not parallel.usual
	input.engine.external_lb
	input.engine.hybrid_lb
}

violations contains {
	"message": "DP=1 with --data-parallel-external-lb or --data-parallel-rank: there is nothing to balance",
	"fix": "set data to the number of replicas, or leave out --data-parallel-external-lb and --data-parallel-rank",
} if {
	not parallel.usual
	parallel.external
	input.engine.parallel.data == 1
}

violations contains {
	"message": "external load balancing without --data-parallel-rank or nnodes: no process knows which replica it is",
	"fix": "give each process its --data-parallel-rank, or nnodes with --node-rank",
} if {
	not parallel.usual
	input.engine.external_lb
	input.engine.nnodes == 1
	not input.engine.data_rank
	not parallel.ranked_later
}

violations contains {
	"message": $"data_parallel_size_local is {local} with external load balancing, where each process runs one replica",
	"fix": "leave data_parallel_size_local out, or set it to 1",
} if {
	not parallel.usual
	local := input.engine.parallel.data_local
	local != 1
	parallel.external
}

violations contains {
	"message": "hybrid load balancing on a headless node, which has no load balancer",
	"fix": "leave out --headless or --data-parallel-hybrid-lb",
} if {
	not parallel.usual
	input.engine.hybrid_lb
	input.engine.headless
}

violations contains {
	"message": "hybrid load balancing without data_parallel_size_local: the node does not know its replicas",
	"fix": "set data_parallel_size_local to the replicas of one node",
} if {
	not parallel.usual
	input.engine.hybrid_lb
	input.engine.nnodes == 1
	parallel.defaulted
	not parallel.external
}

violations contains {
	"message": $"{name} is {rank}, with DP={replicas} it is one of 0 to {replicas - 1}",
	"fix": "number the replicas from 0, or correct the data parallel size",
} if {
	not parallel.usual
	replicas := input.engine.parallel.data
	replicas > 1
	some name in ["data_rank", "data_start_rank"]
	rank := input.engine[name]
	not parallel.within(rank, replicas)
}

violations contains violation if some violation in refused.by["parallel.config"]

unknown contains reason if some reason in unresolved.parallel
