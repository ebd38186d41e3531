package tiergate.peer

mirror := {
	"id": "tiering.mirror", "enforcement": "deny", "outcome": "not_applicable", "violations": [], "missing": [],
} if {
	not mirrored
} else := {
	"id": "tiering.mirror", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
} if {
	count(crossing) == 0
} else := {
	"id": "tiering.mirror", "enforcement": "deny", "outcome": "fail", "violations": unmirrored, "missing": [],
} if {
	count(unmirrored) > 0
} else := {
	"id": "tiering.mirror", "enforcement": "deny", "outcome": "pass", "violations": [], "missing": [],
}

mirrored if {
	extra := connectors[_].kv_connector_extra_config
	not extra.mirror_source in {null, false, ""}
	not object.get(extra, "secondary_tiers", null) in {null, []}
}

mirror_in_force if {
	mirrored
	count(hindrances) == 0
}

unmirrored := [{
	"message": message,
	"fix": "place all ranks of a replica on one host, or use an engine and a configuration that mirror",
} |
	spanned := count(spanning)
	spanned > 0
	some hindrance in hindrances
	message := $"mirror_source is set for {spanned} groups that span memory domains, but not with {hindrance}"
]

hindrances contains $"engine version {object.get(input.engine, "version", "unknown")}" if {
	not listed
}

listed if input.engine.version in data.settings.features.mirror

hindrances contains "data parallel replicas" if sizes.data != 1

hindrances contains $"tiers of {path} that are not mirrored or not of vLLM's own spec" if {
	some path, connector in connectors
	extra := connector.kv_connector_extra_config
	not object.get(extra, "secondary_tiers", null) in {null, []}
	not mirrors(path, extra)
}

mirrors(path, extra) if {
	native[path]
	not object.get(extra, "mirror_source", null) in {null, false, ""}
}

hindrances contains $"{layout} of {path}" if {
	some path, connector in connectors
	some layout in ["canonical_layout", "replicated_layout"]
	not object.get(connector.kv_connector_extra_config, layout, null) in {null, false}
}

hindrances contains $"the kvcr tier of {path}" if {
	some path, connector in connectors
	connector.kv_connector_extra_config.secondary_tiers[_].type == "kvcr"
}
