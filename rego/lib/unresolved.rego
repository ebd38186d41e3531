# Settings that only the running engine will know, each with the reason, e.g. "engine.parallel.tensor: $TP is not
# set".
package tiergate.unresolved

transfer contains $"{unresolved.setting}: {unresolved.reason}" if {
	not input.transfer
	some unresolved in input.engine.unresolved
	startswith(unresolved.setting, "engine.kv_transfer")
}

# What parallel.config judges. Ranks of a process are not among them: one template starts all processes of an engine.
parallel contains $"{unresolved.setting}: {unresolved.reason}" if {
	some unresolved in input.engine.unresolved
	unresolved.setting in {
		"engine.parallel.tensor",
		"engine.parallel.pipeline",
		"engine.parallel.prefill_context",
		"engine.parallel.decode_context",
		"engine.parallel.data",
		"engine.parallel.data_local",
		"engine.nnodes",
		"engine.executor",
	}
}
