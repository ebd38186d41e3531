package output

import (
	"fmt"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// tally sorts the checks of a verdict by what they ask of the reader.
type tally struct {
	total int
	// failing deny, unknown keep the verdict open, warning change nothing, and dry would deny if they were enforced.
	failing, unknown, warning, dry []v1.CheckResult
	passed, skipped                []v1.CheckResult
	// unjudged are not applicable for lack of a fact, or unknown without being enforced.
	unjudged []v1.CheckResult
}

func newTally(verdict *v1.Verdict) tally {
	t := tally{total: len(verdict.Checks)}
	for _, c := range verdict.Checks {
		list := t.listFor(c)
		*list = append(*list, c)
	}
	return t
}

func (t *tally) listFor(c v1.CheckResult) *[]v1.CheckResult {
	switch {
	case c.Outcome == v1.Fail && c.Enforcement == v1.EnforceDeny:
		return &t.failing
	case c.Outcome == v1.Fail && c.Enforcement == v1.EnforceDryrun:
		return &t.dry
	case c.Outcome == v1.Fail:
		return &t.warning
	case c.Outcome == v1.Unknown && c.Enforcement == v1.EnforceDeny:
		return &t.unknown
	case c.Outcome == v1.Pass:
		return &t.passed
	case len(c.Missing) > 0:
		return &t.unjudged
	default:
		return &t.skipped
	}
}

// String is the second half of a headline.
func (t tally) String() string {
	var parts []string
	switch {
	case len(t.failing) > 0:
		parts = append(parts, fmt.Sprintf("%d of %s %s", len(t.failing), checks(t.total), plural(len(t.failing), "fails", "fail")))
		if n := len(t.unknown); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s unknown", n, plural(n, "is", "are")))
		}
	case len(t.unknown) > 0:
		parts = append(parts, fmt.Sprintf("%d of %s cannot be decided yet", len(t.unknown), checks(t.total)))
	default:
		parts = append(parts, fmt.Sprintf("none of %s fails", checks(t.total)))
	}
	if n := len(t.warning); n > 0 {
		parts = append(parts, fmt.Sprintf("%d %s", n, plural(n, "warning", "warnings")))
	}
	if n := len(t.dry); n > 0 {
		parts = append(parts, fmt.Sprintf("%d in dry run would fail", n))
	}
	return strings.Join(parts, ", ")
}

func checks(n int) string { return fmt.Sprintf("%d %s", n, plural(n, "check", "checks")) }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func ids(list []v1.CheckResult) string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = clean(c.ID)
	}
	return strings.Join(names, ", ")
}
