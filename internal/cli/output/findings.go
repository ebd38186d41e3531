package output

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// maxShown is how many violations or missing facts of a check are shown before the rest is counted.
const maxShown = 8

// findings writes the checks that need attention.
func (p *page) findings(t tally) {
	for _, c := range t.failing {
		p.finding(p.paint(red, "FAIL"), c)
	}
	for _, c := range t.warning {
		p.finding(p.paint(yellow, "WARN"), c)
	}
	for _, c := range t.unknown {
		p.finding(p.paint(yellow, "UNKNOWN"), c)
	}
	if p.Verbose {
		for _, c := range t.dry {
			p.finding(p.paint(faint, "DRY RUN"), c)
		}
	}
}

func (p *page) finding(word string, c v1.CheckResult) {
	p.blank()
	p.text("  ", word+" "+p.paint(bold, clean(c.ID)))
	p.violations("    ", c.Violations)
	p.missing(c.Missing)
	if c.Waiver != nil {
		p.waiver(c.Waiver)
	}
}

func (p *page) waiver(w *v1.Waiver) {
	p.item("    ", "waived: ", fmt.Sprintf("by %s until %s: %s", w.Owner, w.Expires, w.Reason))
}

// violations writes a list; a fix that several in a row share is written once.
func (p *page) violations(indent string, list []v1.Violation) {
	shown := list[:p.limit(len(list))]
	for i, v := range shown {
		p.item(indent, "- ", v.Message+whereabouts(v))
		last := i+1 == len(shown)
		if v.Fix != "" && (last || shown[i+1].Fix != v.Fix) {
			p.item(indent+"  ", "fix: ", v.Fix)
		}
	}
	p.more(indent, len(list)-len(shown))
}

// missing writes the facts without which a check cannot be decided; those that have one reason in common stand together.
func (p *page) missing(facts []string) {
	var reasons []string
	names := map[string][]string{}
	for _, fact := range facts {
		name, reason, _ := strings.Cut(fact, ": ")
		if names[reason] == nil {
			reasons = append(reasons, reason)
		}
		names[reason] = append(names[reason], name)
	}
	if len(reasons) > 1 && !p.Verbose {
		reasons = slices.DeleteFunc(reasons, func(reason string) bool { return reason == "" && onlyPaths(names[""]) })
	}
	shown := reasons[:p.limit(len(reasons))]
	for _, reason := range shown {
		list := strings.Join(names[reason], ", ")
		p.item("    ", "- not known: ", strings.TrimSuffix(list+": "+reason, ": "))
	}
	p.more("    ", len(reasons)-len(shown))
}

// onlyPaths tells facts that are named by their path alone, such as groups, from ones that say what is missing where. Beside
// a reason they tell a reader nothing.
func onlyPaths(facts []string) bool {
	return !slices.ContainsFunc(facts, func(fact string) bool { return strings.Contains(fact, " ") })
}

func (p *page) limit(length int) int {
	if p.Verbose {
		return length
	}
	return min(length, maxShown)
}

func (p *page) more(indent string, rest int) {
	if rest > 0 {
		p.text(indent, fmt.Sprintf("... and %d more (--verbose shows all)", rest))
	}
}

// whereabouts names the ranks and nodes of a violation unless its message does; a site's rule may leave them to us.
func whereabouts(v v1.Violation) string {
	var parts []string
	if v.Group != nil && !strings.Contains(v.Message, v.Group.Kind) {
		parts = append(parts, v.Group.Kind+" group of "+topology.RankList(v.Group.Ranks))
	}
	unnamed := func(node string) bool { return !strings.Contains(v.Message, node) }
	if slices.ContainsFunc(v.Nodes, unnamed) {
		parts = append(parts, "on "+strings.Join(v.Nodes, ", "))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, " ") + ")"
}
