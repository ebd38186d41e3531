# METADATA
# title: Engines have an id
# description: Why the check is there, for whoever it stops.
# custom:
#   enforcement: warn # deny once it says the right things; dryrun only counts
#   missing: unknown # or not_applicable: what it is where a fact of needs is missing
#   needs: [input.engine]
package tiergate.checks.{{.ID}}

applies := true

# Every violation has a message; fix, nodes and group are shown where they are given.
violations contains {
	"message": "the engine has no id",
	"fix": "set engine.id in the launch",
} if {
	object.get(input.engine, "id", "") == ""
}

unknown := set() # what may be missing is in needs
