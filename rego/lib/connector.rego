# What the checks ask of a KV connector. Its configuration is verbatim: any key may be absent or hold any JSON value.
package tiergate.connector

import data.tiergate.wording

# setting is the value of a key of kv_connector_extra_config; undefined where there is none or null.
setting(connector, key) := value if {
	value := connector.config.kv_connector_extra_config[key]
	value != null
}

# shown writes that value for people.
shown(connector, key) := wording.value(setting(connector, key))

shown(connector, key) := "not set" if not given(connector, key)

given(connector, key) if connector.config.kv_connector_extra_config[key] != null

# filled is true where a key holds a text that is not empty, as vLLM asks of names, module paths and folders.
filled(object, key) if {
	is_string(object[key])
	object[key] != ""
}
