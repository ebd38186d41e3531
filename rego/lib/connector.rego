# What the checks ask of a KV connector. Its configuration is verbatim: any key may be absent or hold any JSON value.
package tiergate.connector

import data.tiergate.wording

# given is true where a key of kv_connector_extra_config holds anything but null.
given(connector, key) if connector.config.kv_connector_extra_config[key] != null

# shown writes the value of such a key for people.
shown(connector, key) := wording.value(connector.config.kv_connector_extra_config[key]) if {
	given(connector, key)
} else := "not set"

# filled is true where a key holds a text that is not empty, as vLLM asks of names, module paths and folders.
filled(object, key) if {
	is_string(object[key])
	object[key] != ""
}
