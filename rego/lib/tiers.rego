# The secondary tiers of vLLM's own offloading specs: which types there are and how an entry is wrong.
package tiergate.tiers

import data.tiergate.connector
import data.tiergate.wording

# connectors are those whose tiers vLLM itself reads.
connectors := [owner |
	some owner in input.transfer.connectors
	owner.native
	tiering(owner)
]

tiering(owner) if owner.tiered

tiering(owner) if owner.spec != "CPUOffloadingSpec"

# odd are the entries of their lists that the rules of tiering.config look at one by one. Most launches have none.
odd := [{"owner": owner.path, "index": i, "tier": tier} |
	some owner in connectors
	list := owner.config.kv_connector_extra_config.secondary_tiers
	is_array(list)
	some i, tier in list
	not usual(tier)
]

# usual is true for an entry that none of these rules objects to.
usual(tier) if {
	tier.type == "fs"
	is_string(tier.root_dir)
	tier.root_dir != ""
}

# place is where an entry stands, for messages.
place(entry) := $"{entry.owner}: secondary_tiers[{entry.index}]"

# fault is what is wrong with an entry before its keys are looked at; undefined for a sound one.
fault(tier) := {
	"what": $"is {wording.value(tier)}, vLLM reads an object",
	"fix": "write each tier as an object with a type",
} if {
	not is_object(tier)
} else := {
	"what": $"has type {wording.member(tier, "type")}, vLLM needs a name",
	"fix": $"set its type to {types}, or to the name of a class with its module_path",
} if {
	not connector.filled(tier, "type")
} else := {
	"what": $"has type {wording.value(tier.type)}, which vLLM does not know, and no module_path",
	"fix": $"set its type to {types}{hint(tier.type)}, or name the module of the class in module_path",
} if {
	not known(tier.type)
	not connector.filled(tier, "module_path")
}

types := "example, fs, kvcr, obj or p2p"

known("example") := true

known("fs") := true

known("kvcr") := true

known("obj") := true

known("p2p") := true

# Version 0.22 called fs so.
known("fs_python") if startswith(input.engine.version, "0.22.")

hint(type) := " (fs was called fs_python in vLLM 0.22 only; give the engine's version if it is that)" if {
	type == "fs_python"
} else := $" (did you mean {near}?)" if {
	some start, near in {
		"disk": "fs", "file": "fs", "fs": "fs", "nfs": "fs", "storage": "fs",
		"obj": "obj", "s3": "obj", "network": "p2p", "nixl": "p2p", "p2p": "p2p",
	}
	startswith(lower(type), start)
} else := ""

# located is true for an object store that is told where to go.
located(tier, key) if connector.filled(tier.store_config, key)

# listed is true where a key holds a list that is not empty.
listed(tier, key) if {
	is_array(tier[key])
	count(tier[key]) > 0
}

# stores_all is true for a store_threshold that keeps no block from the tiers.
stores_all(threshold) if {
	is_number(threshold)
	threshold < 2
}
