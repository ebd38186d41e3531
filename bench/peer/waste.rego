package tiergate.peer

offload_waste := {
	"id": "offload.waste", "enforcement": "warn", "outcome": "not_applicable", "violations": [], "missing": [],
} if {
	tiered
} else := {
	"id": "offload.waste", "enforcement": "warn", "outcome": "not_applicable", "violations": [], "missing": [],
} if {
	region == 0
} else := {
	"id": "offload.waste", "enforcement": "warn", "outcome": "pass", "violations": [], "missing": [],
} if {
	count(crossing) == 0
} else := {
	"id": "offload.waste", "enforcement": "warn", "outcome": "fail", "violations": wasted, "missing": [],
} if {
	count(wasted) > 0
} else := {
	"id": "offload.waste", "enforcement": "warn", "outcome": "pass", "violations": [], "missing": [],
} if {
	ranks
} else := {
	"id": "offload.waste", "enforcement": "warn", "outcome": "not_applicable", "violations": [],
	"missing": ["workers: a node for every rank of the grid"],
}

wasted := [{
	"message": message,
	"nodes": nodes,
	"fix": "place each replica on one host, or count on cpu_bytes_to_use being taken once per host",
} |
	some first in crossing
	nodes := {array.slice(workers, first, first + world)[_].node | true}
	separate(nodes)
	message := $"replica of rank {first} reserves {region} bytes on each of {nodes}, where only some of its ranks write"
]

separate(_) if count(known) == count(workers)

separate(nodes) if proven_apart(nodes)
