package tiergate.peer

capacity_shm := {
	"id": "capacity.shm", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	region > 0
	ranks
	roomy
} else := {
	"id": "capacity.shm", "enforcement": "deny", "outcome": "not_applicable", "violations": [], "missing": [],
} if {
	region == 0
} else := {
	"id": "capacity.shm", "enforcement": "deny", "outcome": "fail", "violations": shortages, "missing": unmeasured,
} if {
	count(shortages) > 0
} else := {
	"id": "capacity.shm", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	count(unmeasured) == 0
} else := {
	"id": "capacity.shm", "enforcement": "deny", "outcome": "not_applicable", "violations": [], "missing": unmeasured,
}

# Every node has room for as many regions as any domain holds; where several replicas may share a domain, for all of
# them.
roomy if {
	need := region * most
	free := [input.nodes[_].shm.free_bytes | true]
	count(free) == count(input.nodes)
	min(free) >= need
	count([1 | input.nodes[_].memory.limit_bytes < need]) == 0
}

most := 1 if {
	sizes.data == 1
} else := 1 if {
	count({home | some home in homes}) == count(homes)
} else := sizes.data

# The domain of each replica, and for a crossing one each of its domains.
homes := array.concat(
	[here[first] |
		here := domains
		elsewhere := {first | some first in crossing}
		some first in numbers.range_step(0, count(here) - 1, world)
		not elsewhere[first]
	],
	[place |
		some first in crossing
		some place in {place | some place in array.slice(domains, first, first + world)}
	],
)

# Region files by domain, one per replica with a rank there, and the bytes that are populated: all of them in the
# domain of the engine core, elsewhere the slots of the ranks that are there.
demand := {place: {"file": region * count(shares), "resident": sum([share | some share in shares])} |
	some place, shares in object.union_n(shares_by_replica)
}

shares_by_replica := [{place: {$"{first}": bytes}} |
	some first in numbers.range_step(0, count(domains) - 1, world)
	there := array.slice(domains, first, first + world)
	core := core_of(first)
	some place in {place | some place in there}
	bytes := share_of(place == core, count([1 | some other in there; other == place]))
]

# A core that may be anywhere counts as elsewhere, so that nothing is denied on a guess.
core_of(first) := core_domain if {
	input.core
} else := domains[first] if {
	executor in {"mp", "uni"}
} else := ""

share_of(true, _) := region

share_of(false, here) := ceil((region * here) / world)

# The domain of every declared node.
places := object.union({input.nodes[i].id: concat("", ["?", input.nodes[i].id]) | true}, located)

shortages := array.concat(
	short("file", seen_room, "the room in /dev/shm"),
	short("resident", [[places[node.id], node.memory.limit_bytes] | some node in input.nodes], "the memory limit"),
)

seen_free := [[places[node.id], node.shm.free_bytes] | some node in input.nodes]

# Where no node of a domain says what is free, no more can be free than there is.
seen_room := array.concat(seen_free, [[place, node.shm.total_bytes] |
	measured := {place | some [place, _] in seen_free}
	some node in input.nodes
	place := places[node.id]
	not measured[place]
])

short(kind, seen, what) := [{
	"message": message,
	"nodes": nodes,
	"fix": $"lower cpu_bytes_to_use, or raise {what}",
} |
	some place in {place | some [place, bytes] in seen; bytes < demand[place][kind]}
	nodes := [node.id | some node in input.nodes; places[node.id] == place]
	least := min([bytes | some [other, bytes] in seen; other == place])
	message := $"{nodes}: {demand[place][kind]} {kind} bytes are needed, {what} is {least}"
]

unmeasured := ["workers: a node for every rank of the grid"] if {
	not ranks
} else := [$"shm.free_bytes of {place}" |
	measured := {place | some [place, _] in seen_free}
	some place, _ in demand
	not measured[place]
]
