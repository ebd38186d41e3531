package admission

import (
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// The codes of a reject that no single check gives.
const (
	CodeProbe        = "probe"
	CodeDisagreement = "disagreement"
)

// nodeLocal is the check whose groups are proved by the probe, so that facts that are missing there are no reason to reject.
const nodeLocal = "tiering.node_local"

// Admit folds a verdict and what the ranks found into one answer: allow only if no denying check fails, none is unknown
// except node_local over the probed groups, and every member of every probed group proved that it shares memory. Reports are
// sorted by rank. A rank without outcomes did not answer. Attempt and id are the caller's to fill in.
func Admit(engine string, verdict *v1.Verdict, reports []Ranked, outcomes map[int64][]v1.RankProbe) *v1.Admission {
	c := &ruling{engine: engine, members: newMembers(reports, outcomes), probed: len(verdict.Probe)}
	c.failing, c.open = denying(verdict, len(reports))
	for _, g := range verdict.Probe {
		c.groups = append(c.groups, c.members.group(g))
	}
	a := &v1.Admission{Outcome: v1.Allow}
	for i := range c.groups {
		g := &c.groups[i]
		a.Disagreement = a.Disagreement || g.contradiction != nil
		if !g.proved() {
			c.unproved = append(c.unproved, g)
		}
	}
	a.Groups, a.MoreGroups = listed(c.groups)
	if len(c.failing)+len(c.open)+len(c.unproved) == 0 {
		return a
	}
	a.Outcome = v1.Reject
	a.Code, a.Message = c.code(a.Disagreement), c.message()
	return a
}

// ruling is what speaks against an engine.
type ruling struct {
	engine  string
	members *members
	// failing and open are the denying checks that fail, and those whose facts are missing.
	failing, open []v1.CheckResult
	groups        []group
	unproved      []*group
	probed        int
}

// denying lists the checks that reject. Facts that node_local misses are what the probe is for; without a probe they are not
// proved, nor is what facts alone say.
func denying(v *v1.Verdict, ranks int) (failing, open []v1.CheckResult) {
	for _, c := range v.Checks {
		if c.Enforcement != v1.EnforceDeny {
			continue
		}
		probed := c.ID == nodeLocal && len(v.Probe) > 0
		switch c.Outcome {
		case v1.NotApplicable:
		case v1.Pass:
			if c.ID == nodeLocal && !probed && ranks > 1 {
				open = append(open, c)
			}
		case v1.Fail:
			failing = append(failing, c)
		default:
			if !probed {
				open = append(open, c)
			}
		}
	}
	if v.Outcome == v1.Deny && len(failing) == 0 {
		failing = append(failing, v1.CheckResult{ID: "verdict", Violations: []v1.Violation{{Message: "the policy denies without saying why"}}})
	}
	return failing, open
}

// spans tells whether node_local or the probe rejects.
func (c *ruling) spans() bool {
	isNodeLocal := func(r v1.CheckResult) bool { return r.ID == nodeLocal }
	return len(c.unproved) > 0 || slices.ContainsFunc(c.failing, isNodeLocal) || slices.ContainsFunc(c.open, isNodeLocal)
}

// code is the first of what rejects, in the order in which it explains most.
func (c *ruling) code(disagreement bool) string {
	switch {
	case disagreement:
		return CodeDisagreement
	case slices.ContainsFunc(c.failing, func(r v1.CheckResult) bool { return r.ID == nodeLocal }):
		return nodeLocal
	case len(c.unproved) > 0:
		return CodeProbe
	case len(c.failing) > 0:
		return c.failing[0].ID
	default:
		return c.open[0].ID
	}
}
