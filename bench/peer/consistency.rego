package tiergate.peer

versions := {input.workers[_].version | true}

consistent_versions := {
	"id": "consistency.versions", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	count(versions) == 1
} else := {
	"id": "consistency.versions", "enforcement": "deny", "outcome": "not_applicable", "violations": [],
	"missing": ["workers: a version"],
} if {
	count(versions) == 0
} else := {
	"id": "consistency.versions", "enforcement": "deny", "outcome": "fail", "missing": [],
	"violations": [{
		"message": $"workers run {count(versions)} engine versions: {concat("; ", version_ranks)}",
		"nodes": {input.workers[_].node | true},
		"fix": "run one engine version on all workers",
	}],
}

version_ranks := [$"{version} on ranks {ranks_with}" |
	some version in versions
	ranks_with := [worker.rank | some worker in input.workers; worker.version == version]
]

consistent_config := {
	"id": "consistency.config", "enforcement": "deny", "outcome": "not_applicable", "violations": [],
	"missing": ["workers: a config"],
} if {
	not config_reported
} else := {
	"id": "consistency.config", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	count(canonical) == 1
} else := {
	"id": "consistency.config", "enforcement": "deny", "outcome": "fail", "missing": [],
	"violations": [{
		"message": $"workers run {count(canonical)} configurations: {concat("; ", config_ranks)}",
		"nodes": {input.workers[_].node | true},
		"fix": "start all workers with the same parallel sizes, executor, nnodes, version and kv_transfer",
	}],
}

config_reported if input.workers[_].config

# What all ranks must agree on, with its defaults, and without what rightly differs between processes.
canonical := {setting | some [setting, _] in settings}

settings := [[setting, worker.rank] |
	some worker in input.workers
	config := worker.config
	setting := {
		"executor": object.get(config, "executor", ""),
		"nnodes": object.get(config, "nnodes", 1),
		"version": object.get(config, "version", ""),
		"parallel": object.union(
			{"tensor": 1, "pipeline": 1, "prefill_context": 1, "decode_context": 1, "data": 1},
			object.remove(object.get(config, "parallel", {}), {"data_local"}),
		),
		"kv_transfer": object.remove(
			object.get(config, "kv_transfer", {}),
			{"engine_id", "kv_ip", "kv_port", "kv_rank"},
		),
	}
]

config_ranks := [$"ranks {same}" |
	some setting in canonical
	same := [rank | some [other, rank] in settings; other == setting]
]
