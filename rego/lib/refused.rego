# Values that vLLM itself refuses at start, as the violations of the checks that they belong to.
package tiergate.refused

by[refusal.check] contains {"message": $"{subject(refusal)}: {refusal.reason}", "fix": refusal.fix} if {
	some refusal in input.engine.refusals
}

subject(refusal) := refusal.setting if refusal.value == ""

subject(refusal) := $"{refusal.setting} is {refusal.value}" if refusal.value != ""
