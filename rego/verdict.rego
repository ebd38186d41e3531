# METADATA
# title: Verdict
# description: >
#   Folds the results of all checks into one answer. The list of checks is not here: for every check file a rule of
#   data.tiergate.generated calls judge at load, so that adding a check means adding its file.
package tiergate

# METADATA
# title: Verdict
# description: >
#   Deny if a denying check fails, else unknown if a denying check is unknown, else allow. Undefined where any check gives
#   no proper result, which the caller reports as an error. probe says whether the groups are to be proved at registration.
# entrypoint: true
verdict := {
	"assumed": object.get(input.placement, "assumed", []),
	"checks": data.tiergate.generated.results,
	"disabled": data.disabled,
	"outcome": outcome,
	"probe": probe,
}

default outcome := "allow"

outcome := "deny" if denying.fail

outcome := "unknown" if {
	denying.unknown
	not denying.fail
}

# The outcomes, other than pass, among the checks that deny.
denying[result.outcome] := true if {
	some result in data.tiergate.generated.results
	result.enforcement == "deny"
	result.outcome != "pass"
}

# judge is called for every check that applies, with the facts it misses among unknown.
judge(id, violations, unknown) := data.checks[id].passed if {
	count(violations) == 0
	count(unknown) == 0
}

judge(id, violations, unknown) := {
	"id": id,
	"outcome": data.checks[id].missing,
	"enforcement": data.checks[id].enforcement,
	"violations": [],
	"missing": sort(unknown),
} if {
	count(violations) == 0
	count(unknown) > 0
	every fact in unknown { is_string(fact) }
}

judge(id, violations, unknown) := object.union(failure(id, violations), absent(unknown)) if {
	count(violations) > 0
	every violation in violations { proper(violation) }
	every fact in unknown { is_string(fact) }
}

# What a violation says goes to clients as it is, so it must have the types that they expect.
proper(violation) if {
	is_string(violation.message)
	is_string(object.get(violation, "fix", ""))
	is_array(object.get(violation, "nodes", []))
	every node in object.get(violation, "nodes", []) { is_string(node) }
	group := object.get(violation, "group", {"kind": "", "ranks": []})
	is_string(group.kind)
	is_array(group.ranks)
	every rank in group.ranks { is_number(rank) }
}

failure(id, violations) := {
	"id": id,
	"outcome": "fail",
	"enforcement": "warn",
	"violations": sort(violations),
	"waiver": waivers(id)[0],
}

failure(id, violations) := {
	"id": id,
	"outcome": "fail",
	"enforcement": data.checks[id].enforcement,
	"violations": sort(violations),
} if {
	count(waivers(id)) == 0
}

absent(unknown) := {} if count(unknown) == 0

absent(unknown) := {"missing": sort(unknown)} if count(unknown) > 0

# A waiver lowers deny to warn. Which ones are valid at all was decided when the policy was loaded.
waivers(id) := [{"owner": waiver.owner, "reason": waiver.reason, "expires": waiver.expires} |
	data.checks[id].enforcement == "deny"
	some waiver in data.checks[id].waivers
	input.now < waiver.expires
	waives(waiver, object.get(input.engine, "id", ""))
]

waives(waiver, engine) if waiver.engine == engine

waives(waiver, engine) if startswith(engine, waiver.engine_prefix)

# The groups are probed also where the facts deny already, so that facts and probe can be compared; not where ranks or
# configurations disagree, because then nobody knows who belongs to which group. A site that lets them disagree is still
# not let in without a proof.
default probe := false

probe if {
	tiered
	input.engine.world_size > 1
	some node_local in data.tiergate.generated.results
	node_local.id == "tiering.node_local"
	node_local.enforcement == "deny"
	node_local.outcome != "not_applicable"
	not confused
}

# Unless the configuration is known to have no secondary tiers, it may have some.
tiered if not input.transfer

tiered if input.transfer.tiered

confused if {
	some result in data.tiergate.generated.results
	result.outcome == "fail"
	result.enforcement == "deny"
	result.id in ["topology.ranks", "consistency.config"]
}
