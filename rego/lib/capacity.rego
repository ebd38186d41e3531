# How much of /dev/shm a memory domain has for region files, and what to do where that is too little.
package tiergate.capacity

import data.tiergate.wording

# used tells the domains where ranks are, or may be while the placement is not known.
used(domain) if domain.ranks > 0

used(domain) if not domain.ranks

# room is the smallest free space seen on a domain's nodes; where none was seen, no more than the mount holds.
room(domain) := domain.shm_free_bytes

room(domain) := domain.shm_total_bytes if not domain.shm_free_bytes

found(domain) := $"{wording.size(domain.shm_free_bytes)} are free" if {
	domain.shm_free_bytes
} else := $"which holds {wording.size(domain.shm_total_bytes)} in all"

# Leftover region files are the first thing to look at where removing them would be enough.
remedy(domain) := $"remove {leftovers(stale)} there, {wording.size(stale.bytes)}, or {resize(domain)}" if {
	stale := domain.stale_regions
	domain.shm_free_bytes + stale.bytes >= domain.region_bytes
} else := resize(domain)

resize(domain) := concat(" ", [
	"enlarge /dev/shm (sizeLimit of the emptyDir, --shm-size, --ipc=host)",
	$"or lower cpu_bytes_to_use to at most {floor(room(domain) / count(domain.replicas))} per replica",
])

leftovers(stale) := wording.counted(stale.count, "leftover region file")
