# METADATA
# title: Fails in the way that the engine's id names
# custom:
#   enforcement: deny
package tiergate.checks.site.hostile

default applies := true

applies := input.now if input.engine.id == "undefined"

applies := false if input.engine.id == "conflict"

applies := true if {
	input.engine.id == "conflict"
	input.stage == "launch"
}

unknown contains "never" if input.stage == "never"

violations contains {"message": "m"} if {
	input.engine.id == "loop"
	some a in numbers.range(1, 4000)
	some b in numbers.range(1, 4000)
	some c in numbers.range(1, 4000)
	a * b * c == 7
}

violations contains {"message": "m"} if {
	input.engine.id == "memory"
	count(numbers.range(1, 2000000000)) < 5
}

violations contains {"message": "m"} if {
	input.engine.id == "builtin"
	1 / (input.engine.parallel.tensor - 2) > 5
}
