package rendezvous

import (
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// toldViolations and toldGroups are how many violations of a check, and groups that are not shared, each rank is told. All of
// thousands of ranks get them, and whoever wants to see the rest looks at the attempt.
const (
	toldViolations = 16
	toldGroups     = 16
)

// toldVerdict is a verdict without the groups to probe, of which each rank is told its own.
func toldVerdict(v *v1.Verdict) *v1.Verdict {
	told := *v
	told.Probe = []v1.Group{}
	told.Checks = slices.Clone(v.Checks)
	for i := range told.Checks {
		c := &told.Checks[i]
		if extra := len(c.Violations) - toldViolations; extra > 0 {
			c.Violations, c.MoreViolations = c.Violations[:toldViolations:toldViolations], int64(extra)
		}
	}
	return &told
}

// verdictFor is what a rank is told of the verdict. It needs the lock.
func (a *attempt) verdictFor(rank int64) *v1.Verdict {
	told := *a.verdict.told
	if groups := a.groupsOf(rank); groups != nil {
		told.Probe = groups
	}
	return &told
}

// toldAdmission is an admission with the rank's own groups, and some of those that are not shared.
func toldAdmission(full *v1.Admission, rank int64) *v1.Admission {
	told := *full
	told.Groups = nil
	others := 0
	for i := range full.Groups {
		g := &full.Groups[i]
		own := slices.Contains(g.Ranks, rank)
		if other := !own && g.Outcome != v1.Shared; other {
			others++
		} else if !own {
			continue
		}
		if own || others <= toldGroups {
			told.Groups = append(told.Groups, *g)
		}
	}
	told.MoreGroups += int64(len(full.Groups) - len(told.Groups))
	return &told
}
