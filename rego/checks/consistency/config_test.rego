package tiergate.checks.consistency.config_test

import data.tiergate.checks.consistency.config

test_one_configuration if judged({"configurations": [first]}) == passed

# The missing need makes the check not applicable.
test_no_configuration if judged({}) == passed

test_two_configurations if judged({"configurations": [first, second]}) == object.union(passed, {"violations": {{
	"message": "the configuration of rank 1 differs from that of rank 0: nnodes: 1, not 2; executor: ray, not mp",
	"nodes": ["gpu-b"],
	"fix": "start all workers of an engine with one configuration",
}}})

judged(given) := result if {
	result := {
		"applies": config.applies,
		"violations": config.violations,
		"unknown": config.unknown,
	} with input as given
}

passed := {"applies": true, "violations": set(), "unknown": set()}

first := {"ranks": "rank 0", "nodes": ["gpu-a"], "differs": []}

second := {"ranks": "rank 1", "nodes": ["gpu-b"], "differs": ["nnodes: 1, not 2", "executor: ray, not mp"]}
