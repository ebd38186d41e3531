package tiergate.checks.topology.ranks_test

import data.tiergate.checks.topology.ranks

test_cases[name] if {
	some name, case in cases
	judged({"ranks": object.union(grid, case.ranks)}) == object.union(passed, {"violations": case.want})
}

test_no_workers if judged({}) == object.union(passed, {"applies": false})

judged(given) := result if {
	result := {
		"applies": ranks.applies,
		"violations": ranks.violations,
		"unknown": ranks.unknown,
	} with input as given
}

passed := {"applies": true, "violations": set(), "unknown": set()}

grid := {"world": 4, "missing": [], "duplicate": [], "out_of_range": [], "off_grid": []}

cases := {
	"the grid": {"ranks": {}, "want": set()},
	"missing ranks": {
		"ranks": {"world": 9, "missing": [1, 4, 5, 6, 8]},
		"want": {{
			"message": "no worker for 5 of the 9 ranks of the grid: ranks 1, 4-6, 8",
			"fix": "list each rank from 0 to 8 once (the global rank, not the local one)",
		}},
	},
	"a missing rank": {
		"ranks": {"missing": [3]},
		"want": {{
			"message": "no worker for 1 of the 4 ranks of the grid: rank 3",
			"fix": "list each rank from 0 to 3 once (the global rank, not the local one)",
		}},
	},
	"every other rank missing": {
		"ranks": {"world": 40, "missing": [rank | some rank in numbers.range(0, 39); rank % 2 == 1]},
		"want": {{
			"message": concat("", [
				"no worker for 20 of the 40 ranks of the grid: ranks 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31",
				" and 4 more runs",
			]),
			"fix": "list each rank from 0 to 39 once (the global rank, not the local one)",
		}},
	},
	"ranks claimed twice": {
		"ranks": {"duplicate": [{"rank": 0, "nodes": ["gpu-a", "gpu-b"]}, {"rank": 1, "nodes": ["gpu-a"]}]},
		"want": {
			{
				"message": "rank 0 is claimed by several workers, on nodes gpu-a, gpu-b",
				"nodes": ["gpu-a", "gpu-b"],
				"fix": "give every worker a rank of its own (the global rank, not the local one)",
			},
			{
				"message": "rank 1 is claimed by several workers, on node gpu-a",
				"nodes": ["gpu-a"],
				"fix": "give every worker a rank of its own (the global rank, not the local one)",
			},
		},
	},
	"ranks outside": {
		"ranks": {"out_of_range": [-1, 4, 5]},
		"want": {{
			"message": "outside the grid of ranks 0 to 3: ranks -1, 4-5",
			"fix": "correct the ranks, or the parallel sizes that the grid is made of",
		}},
	},
	"a group off the grid": {
		"ranks": {"off_grid": [{"rank": 0, "node": "gpu-a", "kind": "tp", "declared": [0, 2], "expected": [0, 1]}]},
		"want": {{
			"message": "rank 0 declares tp group [0, 2], in this grid it is [0, 1]",
			"group": {"kind": "tp", "ranks": [0, 2]},
			"nodes": ["gpu-a"],
			"fix": "correct the group, or the parallel sizes and the order of ranks (TP fastest, then PCP, PP, DP)",
		}},
	},
	"a group of no kind": {
		"ranks": {"off_grid": [{"rank": 1, "node": "gpu-a", "kind": "cp", "declared": [0, 1], "expected": []}]},
		"want": {{
			"message": "rank 1 declares cp group [0, 1], but the grid has no cp groups",
			"group": {"kind": "cp", "ranks": [0, 1]},
			"nodes": ["gpu-a"],
			"fix": "declare groups of kind tp, pp, pcp, dcp, dp or ep, as the engine's sizes make them",
		}},
	},
}

test_more_than_are_listed if {
	found := ranks.violations with input as {"ranks": {
		"world": 2, "missing": [], "duplicate": [], "out_of_range": [], "off_grid": [], "off_grid_more": 7,
	}}
	found == {{
		"message": "7 more declared groups do not fit the grid",
		"fix": "correct the parallel sizes, or the order in which the launcher gives ranks",
	}}
}
