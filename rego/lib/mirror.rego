# Engines with mirror_source copy the slots of remote ranks into the region on the engine core's node, so that their
# groups may span (vllm 62933). No released version does it yet: a site lists those that it relies on in
# settings.features.mirror.
package tiergate.mirror

default in_force := false

# The settings are asked first: without a listed version nothing else needs a look.
in_force if {
	data.settings.features.mirror
	requested
	count(hindrances) == 0
}

requested if {
	some connector in input.transfer.connectors
	connector.tiered
	mirrored(connector)
}

# Why the engine as configured does not mirror, each as the end of a sentence.
hindrances contains $"version {version} of the engine is not listed in settings.features.mirror" if {
	version := input.engine.version
	not listed
}

hindrances contains "the launch does not give the engine's version" if not input.engine.version

hindrances contains "data parallel replicas are not mirrored" if not single

hindrances contains $"{connector.path} has tiers but no mirror_source" if {
	some connector in input.transfer.connectors
	connector.tiered
	not mirrored(connector)
}

hindrances contains $"the offloading spec of {connector.path} is not vLLM's own" if {
	some connector in input.transfer.connectors
	connector.tiered
	not connector.native
}

hindrances contains $"{connector.path} sets {layout}, which is not mirrored" if {
	some connector in input.transfer.connectors
	some layout in ["canonical_layout", "replicated_layout"]
	value := connector.config.kv_connector_extra_config[layout]
	not value in [null, false]
}

hindrances contains $"{connector.path} has a kvcr tier, which is not mirrored" if {
	some connector in input.transfer.connectors
	some tier in connector.config.kv_connector_extra_config.secondary_tiers
	tier.type == "kvcr"
}

single if input.engine.parallel.data == 1

listed if input.engine.version in data.settings.features.mirror

mirrored(connector) if {
	source := connector.config.kv_connector_extra_config.mirror_source
	not source in [null, false, ""]
}

# spanning is how many TP, PP and PCP groups are not in one node's shared memory.
spanning := (count(input.groups.tp.spanning) + count(input.groups.pp.spanning)) + count(input.groups.pcp.spanning)
