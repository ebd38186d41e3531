package tiergate.checks.parallel.config_test

import data.tiergate.checks.parallel.config

# Launches that vLLM accepts, some by the usual rule and some rule by rule.
test_accepted[name] if {
	some name, engine in accepted
	judged(engine) == passed
}

test_refused[name] if {
	some name, case in refused
	judged(case.engine).violations == {{"message": message, "fix": fix} | some [message, fix] in case.want}
}

# A size that is not known leaves the rules that need it without an answer, and the others in force.
test_unresolved if {
	engine := object.union(
		object.remove(single, ["parallel", "world_size"]),
		{
			"parallel": {"pipeline": 1, "prefill_context": 2, "decode_context": 1, "data": 2},
			"unresolved": [
				{"setting": "engine.parallel.tensor", "reason": "$TP is not set"},
				{"setting": "engine.node_rank", "reason": "$RANK is not set"},
				{"setting": "engine.kv_transfer", "reason": "$KV is not set"},
			],
		},
	)
	result := judged(engine)
	result.unknown == {"engine.parallel.tensor: $TP is not set"}
	count(result.violations) == 1
}

test_refusals if {
	engine := object.union(single, {"refusals": [{
		"check": "parallel.config", "setting": "-tp", "value": "two",
		"reason": "invalid int value", "fix": "give a number",
	}]})
	judged(engine).violations == {{"message": "-tp is two: invalid int value", "fix": "give a number"}}
}

judged(engine) := result if {
	result := {
		"applies": config.applies,
		"violations": config.violations,
		"unknown": config.unknown,
	} with input as {"engine": engine}
}

passed := {"applies": true, "violations": set(), "unknown": set()}

single := {
	"parallel": {"tensor": 1, "pipeline": 1, "prefill_context": 1, "decode_context": 1, "data": 1},
	"executor": "mp",
	"nnodes": 1,
	"node_rank": 0,
	"headless": false,
	"data_backend": "mp",
	"external_lb": false,
	"hybrid_lb": false,
	"world_size": 1,
}

grid(parallel, rest) := object.union_n([
	single,
	{"parallel": parallel},
	{"world_size": (sizes.tensor * sizes.pipeline) * sizes.prefill_context},
	rest,
]) if {
	sizes := object.union(single.parallel, parallel)
}

accepted := {
	"one worker": single,
	"a tensor parallel node": grid({"tensor": 8}, {}),
	"decode context inside tensor": grid({"tensor": 8, "decode_context": 4}, {}),
	"decode context along prefill context": grid({"tensor": 2, "prefill_context": 2, "decode_context": 2}, {}),
	"decode context over the plane": grid({"tensor": 2, "prefill_context": 2, "decode_context": 4}, {}),
	"prefill context over two nodes": grid({"prefill_context": 2}, {"nnodes": 2, "node_rank": 1}),
	"one replica on two nodes": grid({"tensor": 8, "pipeline": 2}, {"nnodes": 2}),
	"two replicas on two nodes": grid({"tensor": 4, "data": 2}, {"nnodes": 2}),
	"two replicas, one to a node": grid({"tensor": 4, "data": 2, "data_local": 1}, {"nnodes": 2}),
	"two replicas, each on two nodes": grid({"tensor": 8, "data": 2, "data_local": 1}, {"nnodes": 4}),
	"replicas on nodes of their own": grid({"data": 16, "data_local": 8}, {"data_start_rank": 8, "headless": true}),
	"a front end without replicas": grid({"data": 2, "data_local": 0}, {}),
	"external load balancing": grid({"data": 16}, {"data_rank": 15}),
	"external load balancing by node": grid({"tensor": 4, "data": 2}, {"external_lb": true, "nnodes": 2}),
	"external load balancing, the rank to come": grid({"data": 2}, {
		"external_lb": true,
		"unresolved": [{"setting": "engine.data_rank", "reason": "$RANK is not set"}],
	}),
	"hybrid load balancing": grid({"data": 16, "data_local": 8}, {"hybrid_lb": true}),
	"hybrid load balancing by node": grid({"data": 2}, {"hybrid_lb": true, "nnodes": 2}),
	"ray finds its nodes": grid({"tensor": 8, "pipeline": 2}, {"executor": "ray"}),
	"ray for both backends": grid({"tensor": 4, "data": 2, "data_local": 1}, {"executor": "ray", "data_backend": "ray"}),
	"one process per rank": grid({"tensor": 8, "pipeline": 2}, {"executor": "external_launcher", "nnodes": 2}),
	"an executor of its own": grid({"tensor": 2, "pipeline": 2}, {"executor": "site.executor.Fast"}),
	"uni": object.union(single, {"executor": "uni"}),
}

refused := {
	"a size of zero": {
		"engine": object.remove(grid({"tensor": 0}, {}), ["world_size"]),
		"want": [["parallel size tensor is 0, vLLM needs at least 1", "set tensor to 1 or more"]],
	},
	"negative sizes": {
		"engine": object.remove(grid({"tensor": -5, "decode_context": 3, "data": -1, "data_local": -2}, {}), ["world_size"]),
		"want": [
			["parallel size tensor is -5, vLLM needs at least 1", "set tensor to 1 or more"],
			["parallel size data is -1, vLLM needs at least 1", "set data to 1 or more"],
			["parallel size data_local is -2, vLLM needs at least 1", "set data_local to 1 or more"],
		],
	},
	"decode context that does not divide": {
		"engine": grid({"tensor": 8, "decode_context": 3}, {}),
		"want": [["TP=8 DCP=3: decode context must divide tensor parallelism", "set decode_context to 1, 2, 4 or 8"]],
	},
	"decode context of a large engine": {
		"engine": grid({"tensor": 4096, "decode_context": 3}, {}),
		"want": [["TP=4096 DCP=3: decode context must divide tensor parallelism", "set decode_context to a divisor of 4096"]],
	},
	"decode context beside prefill context": {
		"engine": grid({"tensor": 4, "prefill_context": 2, "decode_context": 4}, {}),
		"want": [[
			concat(" ", [
				"TP=4 PCP=2 DCP=4: with prefill context parallelism, decode context must be off,",
				"span that axis, or span it and all of TP",
			]),
			"set decode_context to 1, 2 or 8",
		]],
	},
	"prefill context with replicas": {
		"engine": grid({"prefill_context": 2, "data": 2}, {}),
		"want": [[
			"PCP=2 DP=2: prefill context parallelism excludes data parallelism",
			"set prefill_context or data to 1",
		]],
	},
	"a pipeline in one process": {
		"engine": grid({"pipeline": 2}, {"executor": "uni"}),
		"want": [["PP=2 with executor uni, which runs one worker", "use executor mp, ray or external_launcher"]],
	},
	"no nodes": {
		"engine": grid({}, {"nnodes": 0}),
		"want": [["nnodes is 0, vLLM needs at least 1", "set nnodes to the number of nodes of the launch"]],
	},
	"a node rank too many": {
		"engine": grid({"tensor": 2}, {"nnodes": 2, "node_rank": 2}),
		"want": [["node_rank is 2, with nnodes=2 it is one of 0 to 1", "number the nodes from 0, or correct nnodes"]],
	},
	"a negative node rank": {
		"engine": grid({}, {"node_rank": -1}),
		"want": [["node_rank is -1, with nnodes=1 it is one of 0 to 0", "number the nodes from 0, or correct nnodes"]],
	},
	"nodes for ray": {
		"engine": grid({"tensor": 4, "data": 2}, {"executor": "ray", "data_backend": "ray", "nnodes": 2}),
		"want": [
			[
				"nnodes=2 with executor ray, which cannot run one engine on several nodes by nnodes",
				"use executor mp, or leave nnodes out: Ray finds its nodes itself",
			],
			[
				"nnodes=2 with data parallel backend ray, which cannot run on several nodes by nnodes",
				"use data parallel backend mp, or leave nnodes out: Ray finds its nodes itself",
			],
		],
	},
	"nodes that do not divide the ranks": {
		"engine": grid({"tensor": 8}, {"nnodes": 3}),
		"want": [[
			"nnodes=3 does not divide the 8 ranks of the launch (DP*PP*PCP*TP)",
			"set nnodes to 1, 2, 4 or 8, or change the sizes",
		]],
	},
	"more local replicas than replicas": {
		"engine": grid({"data": 2, "data_local": 4}, {}),
		"want": [["data_parallel_size_local=4 is more than DP=2", "set data_parallel_size_local to at most 2"]],
	},
	"replicas that do not divide": {
		"engine": grid({"data": 6, "data_local": 4}, {}),
		"want": [[
			"DP=6 is not a multiple of data_parallel_size_local=4",
			"set data_parallel_size_local to 1, 2, 3 or 6",
		]],
	},
	"nodes that do not divide by replicas": {
		"engine": grid({"tensor": 2, "data": 3}, {"nnodes": 2}),
		"want": [[
			"DP=3 with 1 per node needs 3 equal groups of nodes, into which nnodes=2 does not divide",
			"set nnodes to a multiple of 3, or change data_parallel_size_local",
		]],
	},
	"ranks that do not divide over their nodes": {
		"engine": grid({"tensor": 3, "data": 2, "data_local": 2}, {"nnodes": 2}),
		"want": [[
			"each replica has 2 of the nnodes=2 nodes, over which its 3 ranks do not divide",
			"give each replica 1 or 3 nodes, or change data_parallel_size_local",
		]],
	},
	"both load balancers": {
		"engine": grid({"data": 2}, {"external_lb": true, "hybrid_lb": true, "data_rank": 0}),
		"want": [[
			"external and hybrid load balancing are both on, they exclude each other",
			"keep --data-parallel-external-lb or --data-parallel-hybrid-lb",
		]],
	},
	"one replica to balance": {
		"engine": grid({}, {"data_rank": 0}),
		"want": [[
			"DP=1 with --data-parallel-external-lb or --data-parallel-rank: there is nothing to balance",
			"set data to the number of replicas, or leave out --data-parallel-external-lb and --data-parallel-rank",
		]],
	},
	"external without a rank": {
		"engine": grid({"data": 2}, {"external_lb": true}),
		"want": [[
			"external load balancing without --data-parallel-rank or nnodes: no process knows which replica it is",
			"give each process its --data-parallel-rank, or nnodes with --node-rank",
		]],
	},
	"external with local replicas": {
		"engine": grid({"data": 4, "data_local": 3}, {"data_rank": 3}),
		"want": [[
			"data_parallel_size_local is 3 with external load balancing, where each process runs one replica",
			"leave data_parallel_size_local out, or set it to 1",
		]],
	},
	"hybrid and headless": {
		"engine": grid({"data": 2, "data_local": 1}, {"hybrid_lb": true, "headless": true}),
		"want": [[
			"hybrid load balancing on a headless node, which has no load balancer",
			"leave out --headless or --data-parallel-hybrid-lb",
		]],
	},
	"hybrid without local replicas": {
		"engine": grid({"data": 2}, {"hybrid_lb": true}),
		"want": [[
			"hybrid load balancing without data_parallel_size_local: the node does not know its replicas",
			"set data_parallel_size_local to the replicas of one node",
		]],
	},
	"a replica too many": {
		"engine": grid({"data": 2}, {"data_rank": 2}),
		"want": [[
			"data_rank is 2, with DP=2 it is one of 0 to 1",
			"number the replicas from 0, or correct the data parallel size",
		]],
	},
	"a start rank too many": {
		"engine": grid({"data": 2, "data_local": 1}, {"data_start_rank": 2}),
		"want": [[
			"data_start_rank is 2, with DP=2 it is one of 0 to 1",
			"number the replicas from 0, or correct the data parallel size",
		]],
	},
}
