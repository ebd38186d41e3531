package admission

import (
	"fmt"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Spanning begins the message where node_local or the probe rejects, as vLLM's own error does (vllm 62930).
const Spanning = "TieringOffloadingSpec secondary tiers are not supported on engines whose workers span several nodes"

// The bounds of a message, in bytes and lines. All is in the verdict and in the groups of the admission.
const (
	maxMessage    = 4096
	maxLine       = 900
	maxGroups     = 8
	maxViolations = 3
	checksRoom    = 1200
)

// What to do, by what was found.
const (
	fixSpan = "place all ranks of a replica on one host with one /dev/shm, or remove secondary_tiers"
	fixOpen = "correct what kept the segments from being proved, then start the whole engine again"
	fixLies = "facts and probe contradict each other, so that one of them is wrong: compare `tiergate facts` in the " +
		"containers of these ranks, look for a forged or copied boot id and for what removes files from /dev/shm"
)

// message tells every rank why the engine is rejected.
func (c *ruling) message() string {
	checks := c.checkLines()
	if !c.spans() {
		p := page{left: maxMessage}
		p.add(checks[0])
		p.list(len(checks)-1, len(checks), "check", func(i int) string { return checks[i+1] })
		return p.text()
	}
	fixes := c.fixes()
	p := page{left: maxMessage - len(fixes)}
	p.add(c.headline())
	room := 0
	if len(checks) > 0 {
		room = checksRoom
	}
	p.left -= room
	p.list(len(c.unproved), maxGroups, "group", func(i int) string { return c.groupLine(c.unproved[i]) })
	if c.across != nil {
		p.add("- " + Located([]int64{c.across.first, c.across.second}, c.members.node) + ": the facts say that " +
			c.members.apartText(c.across) + ", but all groups, which connect them, are shared")
	}
	if line := c.factsLine(); line != "" {
		p.add("- " + line)
	}
	p.left += room
	p.list(len(checks), len(checks), "check", func(i int) string { return checks[i] })
	return p.text() + fixes
}

func (c *ruling) headline() string {
	line := Spanning + ": engine " + clean(c.engine, 2*maxName)
	switch n := len(c.unproved); n {
	case 0:
		return line
	case 1:
		return fmt.Sprintf("%s, 1 of %s is not proved to share memory", line, count(len(c.groups), "group"))
	default:
		return fmt.Sprintf("%s, %d of %s are not proved to share memory", line, n, count(len(c.groups), "group"))
	}
}

// fixes are lines that say what to do about groups.
func (c *ruling) fixes() string {
	lies, spans, open := c.across != nil, false, false
	for _, g := range c.unproved {
		switch {
		case g.contradiction != nil:
			lies = true
		case g.Outcome == v1.NotShared || g.Facts == v1.NotShared:
			spans = true
		default:
			open = true
		}
	}
	var text string
	for _, fix := range [...]struct {
		needed bool
		text   string
	}{{lies, fixLies}, {spans, fixSpan}, {open, fixOpen}} {
		if fix.needed {
			text += "\nfix: " + fix.text
		}
	}
	return text
}

// checkLines are the other checks that reject. What node_local says of groups, the probed groups say with more.
func (c *ruling) checkLines() []string {
	var lines []string
	for i := range c.failing {
		r := &c.failing[i]
		if r.ID == nodeLocal && len(c.unproved) > 0 {
			continue
		}
		if len(r.Violations) == 0 {
			lines = append(lines, r.ID+": fails without saying why")
		}
		for j, v := range r.Violations[:min(len(r.Violations), maxViolations)] {
			line := r.ID + ": " + v.Message
			if len(v.Nodes) > 0 && !strings.Contains(v.Message, v.Nodes[0]) {
				line += " (on " + some(v.Nodes, "node") + ")"
			}
			if v.Fix != "" {
				line += "; fix: " + v.Fix
			}
			if more := len(r.Violations) - maxViolations; j == maxViolations-1 && more > 0 {
				line = fmt.Sprintf("%s (and %d more of this check)", clip(line, maxLine-40), more)
			}
			lines = append(lines, line)
		}
	}
	for i := range c.open {
		lines = append(lines, openLine(&c.open[i]))
	}
	return lines
}

func openLine(r *v1.CheckResult) string {
	if len(r.Missing) == 0 {
		return r.ID + ": not proved, because no group was probed"
	}
	return r.ID + ": cannot be judged without " + some(r.Missing, "fact")
}
