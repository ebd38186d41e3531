package admission

import (
	"fmt"
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// coreLocal is the check that the engine core's own gate answers.
const coreLocal = "tiering.core_local"

// CoreInForce tells whether an engine core that does not share memory with rank 0 is to be rejected: not where the site
// turned the check off or lowered it.
func CoreInForce(verdict *v1.Verdict) bool {
	return slices.ContainsFunc(verdict.Checks, func(c v1.CheckResult) bool {
		return c.ID == coreLocal && c.Enforcement == v1.EnforceDeny
	})
}

// Core compares where an engine core runs with where rank 0 does: allow only if both know their boot id and device and
// these are equal. Attempt and id are the caller's to fill in.
func Core(rank0, core *v1.NodeFacts) v1.CoreAdmission {
	if rank0 == nil {
		rank0 = &v1.NodeFacts{}
	}
	if core == nil {
		core = &v1.NodeFacts{}
	}
	a := v1.CoreAdmission{Outcome: v1.Reject, RankNode: factsName(rank0), CoreNode: factsName(core)}
	boot, device := domainOf(rank0)
	coreBoot, coreDevice := domainOf(core)
	switch {
	case boot == "" || device == "":
		a.Message = unknownCore("rank 0", a.RankNode, rank0)
	case coreBoot == "" || coreDevice == "":
		a.Message = unknownCore("the engine core", a.CoreNode, core)
	case boot != coreBoot || device != coreDevice:
		a.Message = fmt.Sprintf("%s: secondary tiers read the shared memory of the engine core's node %s (%s), but rank 0 is on "+
			"%s (%s), which does not share it; start the engine core with rank 0's /dev/shm, or remove secondary_tiers",
			coreLocal, a.CoreNode, seen(core), a.RankNode, seen(rank0))
	default:
		a.Outcome, a.Message = v1.Allow, fmt.Sprintf("the engine core shares memory with rank 0 (%s)", seen(core))
	}
	return a
}

func unknownCore(who, node string, f *v1.NodeFacts) string {
	return fmt.Sprintf("%s: whether the engine core shares memory with rank 0 is unknown: %s on %s has %s; let it read "+
		"/proc/sys/kernel/random/boot_id and stat /dev/shm", coreLocal, who, node, seen(f))
}
