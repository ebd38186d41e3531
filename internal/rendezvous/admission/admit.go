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

// nodeLocal is the check whose groups are proved by the probe, so that facts that are missing there are no reason to
// reject.
const nodeLocal = "tiering.node_local"

// Admit folds a verdict and what the ranks found into one answer: allow only if no denying check fails, none is unknown
// except node_local over the probed groups, and every member of every probed group proved that it shares memory.
// Reports are sorted by rank. A rank without outcomes did not answer. Attempt and id are the caller's to fill in.
func Admit(engine string, verdict *v1.Verdict, reports []Ranked, outcomes map[int64][]v1.RankProbe) *v1.Admission {
	c := &ruling{engine: engine, members: newMembers(reports, outcomes)}
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
	if len(c.groups) > 0 && len(c.unproved) == 0 {
		c.across = c.members.apart()
		a.Disagreement = c.across != nil
	}
	if len(c.failing)+len(c.open)+len(c.unproved) == 0 && c.across == nil {
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
	// across is not nil where all groups are proved, and facts of ranks in different groups contradict that.
	across *contradiction
}

// denying lists the checks that reject. Facts that node_local misses are what the probe is for; where nothing is
// probed, it is not proved, but for the check that kept the groups from being probed if there is one. That one then
// comes first.
func denying(v *v1.Verdict, ranks int) (failing, open []v1.CheckResult) {
	var local *v1.CheckResult
	for i := range v.Checks {
		c := &v.Checks[i]
		switch {
		case c.Enforcement != v1.EnforceDeny || c.Outcome == v1.NotApplicable:
		case c.ID == nodeLocal:
			local = c
		case c.Outcome == v1.Fail:
			failing = append(failing, *c)
		case c.Outcome != v1.Pass:
			open = append(open, *c)
		}
	}
	switch {
	case local == nil:
	case local.Outcome == v1.Fail:
		failing = append(failing, *local)
	case len(v.Probe) == 0 && len(failing) == 0 && ranks > 1:
		open = append(open, *local)
	}
	if v.Outcome == v1.Deny && len(failing) == 0 {
		failing = append(failing, v1.CheckResult{ID: "verdict"})
	}
	return failing, open
}

// first is the check that explains most where no probe does.
func (c *ruling) first() string {
	if len(c.failing) > 0 {
		return c.failing[0].ID
	}
	return c.open[0].ID
}

// spans tells whether node_local or the probe rejects.
func (c *ruling) spans() bool {
	return len(c.unproved) > 0 || c.across != nil || c.first() == nodeLocal
}

// code is the first of what rejects, in the order in which it explains most.
func (c *ruling) code(disagreement bool) string {
	switch {
	case disagreement:
		return CodeDisagreement
	case len(c.unproved) == 0:
		return c.first()
	case slices.ContainsFunc(c.failing, func(r v1.CheckResult) bool { return r.ID == nodeLocal }):
		return nodeLocal
	default:
		return CodeProbe
	}
}
