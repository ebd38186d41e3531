package tiergate.peer

stale_regions := {
	"id": "capacity.stale_regions", "enforcement": "warn", "outcome": "not_applicable", "violations": [], "missing": [],
} if {
	object.get(input.engine, "kv_transfer", null) == null
} else := {
	"id": "capacity.stale_regions", "enforcement": "warn", "outcome": "fail", "violations": leftovers, "missing": [],
} if {
	input.nodes[_].shm.stale_regions[_]
} else := {
	"id": "capacity.stale_regions", "enforcement": "warn", "outcome": "pass", "violations": [], "missing": [],
} if {
	count([1 | input.nodes[_].shm.stale_regions]) == count(input.nodes)
} else := {
	"id": "capacity.stale_regions", "enforcement": "warn", "outcome": "pass", "violations": [], "missing": [],
} if {
	count(unreported) == 0
} else := {
	"id": "capacity.stale_regions", "enforcement": "warn", "outcome": "not_applicable", "violations": [],
	"missing": unreported,
}

leftovers := [{
	"message": message,
	"nodes": nodes,
	"fix": "remove /dev/shm/vllm_offload_*.mmap there while no engine runs on that /dev/shm",
} |
	some place in {place | some [place, _, _] in stale}
	nodes := [node.id | some node in input.nodes; places[node.id] == place]
	names := [name | some [other, name, _] in stale; other == place]
	bytes := sum([size | some [other, _, size] in stale; other == place])
	message := $"{count(names)} leftover region files take {bytes} bytes of /dev/shm on {nodes}: {names}"
]

# Two nodes of a domain see the same file.
stale := {[places[node.id], file.name, file.bytes] |
	some node in input.nodes
	some file in node.shm.stale_regions
}

unreported := [$"shm.stale_regions of {place}" |
	reported := {places[node.id] | some node in input.nodes; node.shm.stale_regions}
	some place in {place | some place in domains}
	not reported[place]
]
