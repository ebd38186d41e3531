# METADATA
# title: The peer of the comparison
# description: >-
#   The twelve shipped checks over a raw structured launch whose workers are placed, written for speed in OPA's
#   interpreter, where each rule and each expression costs about as much as the next. So there is one pass over the
#   workers per fact, in the form of a reference rather than a loop; ranks are kept in arrays, so that a line of the
#   grid is a slice; a replica whose ranks share one memory domain is settled without looking at its lines; and what
#   a sound launch meets at once is asked first, rule by rule only if it does not.
package tiergate.peer

# METADATA
# entrypoint: true
verdict := {
	"outcome": outcome,
	"checks": [
		capacity_shm,
		stale_regions,
		consistent_config,
		consistent_versions,
		offload_config,
		offload_waste,
		parallel_config,
		tiering_config,
		core_local,
		mirror,
		node_local,
		topology_ranks,
	],
	"probe": probe,
}

# Everything but offload.waste and capacity.stale_regions denies.
denying := {
	capacity_shm.outcome,
	consistent_config.outcome,
	consistent_versions.outcome,
	offload_config.outcome,
	parallel_config.outcome,
	tiering_config.outcome,
	core_local.outcome,
	mirror.outcome,
	node_local.outcome,
	topology_ranks.outcome,
}

outcome := "deny" if {
	denying.fail
} else := "unknown" if {
	denying.unknown
} else := "allow"

default probe := []

# Every TP, PP and PCP group of more than one rank, in this order.
probe := array.flatten([tp_lines, pp_lines, pcp_lines]) if {
	node_local.outcome != "not_applicable"
	topology_ranks.outcome == "pass"
	consistent_config.outcome != "fail"
}
