package tiergate.checks.consistency.versions_test

import data.tiergate.checks.consistency.versions

test_one_version if judged({"versions": [old]}) == passed

# The missing need makes the check not applicable.
test_no_version if judged({}) == passed

test_two_versions if judged({"versions": [old, new]}) == object.union(passed, {"violations": {{
	"message": "engine version 0.33.0 on ranks 4-7, but 0.32.0 on ranks 0-3",
	"nodes": ["gpu-b"],
	"fix": "start all workers of an engine from one image",
}}})

test_three_versions if {
	count(judged({"versions": [old, new, {"version": "0.31.0", "ranks": "rank 8", "nodes": ["gpu-c"]}]}).violations) == 2
}

judged(given) := result if {
	result := {
		"applies": versions.applies,
		"violations": versions.violations,
		"unknown": versions.unknown,
	} with input as given
}

passed := {"applies": true, "violations": set(), "unknown": set()}

old := {"version": "0.32.0", "ranks": "ranks 0-3", "nodes": ["gpu-a"]}

new := {"version": "0.33.0", "ranks": "ranks 4-7", "nodes": ["gpu-b"]}
