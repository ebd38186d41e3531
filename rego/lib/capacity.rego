# How much of /dev/shm a memory domain has for region files, and what to do where that is too little.
package tiergate.capacity

import data.tiergate.wording

# used tells the domains where ranks are, or may be while the placement is not known.
used(domain) if domain.ranks > 0

used(domain) if not domain.ranks

# room is the smallest free space seen on a domain's nodes; where none was seen, no more than the mount holds.
room(domain) := domain.shm_free_bytes

room(domain) := domain.shm_total_bytes if not domain.shm_free_bytes

found(domain) := $"{wording.size(domain.shm_free_bytes)} are free"

found(domain) := $"which holds {wording.size(domain.shm_total_bytes)} in all" if not domain.shm_free_bytes

# Leftover region files are the first thing to look at where removing them would be enough.
remedy(domain) := $"remove the {domain.stale_regions.count} leftover region files there, which take {taken}, or {resize(domain)}" if {
	domain.shm_free_bytes + domain.stale_regions.bytes >= domain.region_bytes
	taken := wording.size(domain.stale_regions.bytes)
} else := resize(domain)

resize(domain) := concat(" ", [
	"enlarge /dev/shm (sizeLimit of the emptyDir, --shm-size, --ipc=host)",
	$"or lower cpu_bytes_to_use to at most {floor(room(domain) / count(domain.replicas))} per replica",
])
