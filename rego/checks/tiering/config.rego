# METADATA
# title: Secondary tiers are configured as vLLM reads them
# description: >
#   vLLM builds the tiers after the model has loaded and the workers have registered; an entry that it cannot read
#   ends the engine minutes after its start. Keys are checked for vLLM's own specs; a spec loaded by module path has
#   its own.
# custom:
#   enforcement: deny
#   missing: not_applicable
#   needs: [input.transfer]
#   docs: docs/checks.md#tieringconfig
package tiergate.checks.tiering.config

import data.tiergate.connector
import data.tiergate.refused
import data.tiergate.tiers
import data.tiergate.unresolved
import data.tiergate.wording

applies if {
	not input.transfer
} else if {
	count(tiers.connectors) > 0
} else if {
	refused.by["tiering.config"]
} else := false

violations contains {
	"message": $"{owner.path}: secondary_tiers is {wording.value(list)}, vLLM reads a list of objects",
	"fix": `write secondary_tiers as a list such as [{"type": "fs", "root_dir": "/mnt/kv-cache"}], or remove it`,
} if {
	some owner in tiers.connectors
	list := owner.config.kv_connector_extra_config.secondary_tiers
	not is_array(list)
}

violations contains {"message": $"{tiers.place(entry)} {fault.what}", "fix": fault.fix} if {
	some entry in tiers.odd
	fault := tiers.fault(entry.tier)
}

violations contains {
	"message": $"{tiers.place(entry)}: root_dir is {wording.member(entry.tier, "root_dir")}, type fs needs a folder",
	"fix": "set root_dir to a folder of the engine core's node, e.g. /mnt/kv-cache",
} if {
	some entry in tiers.odd
	entry.tier.type in ["fs", "fs_python"]
	not connector.filled(entry.tier, "root_dir")
}

violations contains {
	"message": $"{tiers.place(entry)} has no {key} in its store_config, type obj needs one",
	"fix": "set store_config.bucket and store_config.endpoint_override (host:port of the object store)",
} if {
	some entry in tiers.odd
	entry.tier.type == "obj"
	some key in ["bucket", "endpoint_override"]
	not tiers.located(entry.tier, key)
}

violations contains {
	"message": $"{tiers.place(entry)} has no {key}, type kvcr needs a list of them",
	"fix": "list the router's capabilities in router_capabilities and one port per local replica in control_ports",
} if {
	some entry in tiers.odd
	entry.tier.type == "kvcr"
	some key in ["router_capabilities", "control_ports"]
	not tiers.listed(entry.tier, key)
}

violations contains {
	"message": $"{owner.path}: store_threshold is {wording.value(threshold)}, with tiers it may only be 0 or 1",
	"fix": "remove store_threshold: it belongs to CPUOffloadingSpec",
} if {
	some owner in tiers.connectors
	threshold := owner.config.kv_connector_extra_config.store_threshold
	not tiers.stores_all(threshold)
}

violations contains violation if some violation in refused.by["tiering.config"]

unknown contains reason if some reason in unresolved.transfer
