# What region files take of a memory domain's /dev/shm, and what to do where that is too much.
package tiergate.capacity

import data.tiergate.wording

# used tells the domains where ranks are, or may be while the placement is not known.
used(domain) if domain.ranks > 0

used(domain) if not domain.ranks

need(domain) := concat(" ", [
	$"{wording.nodes(domain.nodes)}: the CPU region of {wording.counted(count(domain.replicas), "replica")}",
	$"takes {wording.size(domain.region_bytes)} of /dev/shm",
])

# Leftover region files are the first thing to look at where removing them would be enough.
remedy(domain) := $"remove {leftovers(stale)} there, {wording.size(stale.bytes)}, or {resize(domain, free)}" if {
	free := domain.shm_free_bytes
	stale := domain.stale_regions
	free + stale.bytes >= domain.region_bytes
} else := resize(domain, domain.shm_free_bytes)

resize(domain, room) := concat(" ", [
	"enlarge /dev/shm (sizeLimit of the emptyDir, --shm-size, --ipc=host)",
	$"or lower cpu_bytes_to_use to at most {floor(room / count(domain.replicas))} per replica",
])

leftovers(stale) := wording.counted(stale.count, "leftover region file")
