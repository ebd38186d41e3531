package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// Attempt is one attempt of an engine to be looked at, with the others that are remembered.
type Attempt struct {
	View   *v1.AttemptView
	Others []v1.AttemptView
	// Now is the service's time, or this machine's where it is not known.
	Now time.Time
}

// ExplainAttempt writes who came when and from where, what was decided and why, what every rank found, and where the facts
// and the probe contradict each other.
func ExplainAttempt(w io.Writer, style Style, a Attempt) error {
	p := &page{Style: style}
	p.attemptTitle(a.View)
	p.message(a.View)
	p.waitedFor(a)
	if v := a.View.Verdict; v != nil {
		p.blank()
		p.text("  ", p.paint(bold, "verdict")+" "+p.painted(v.Outcome)+" "+newTally(v).String())
		p.findings(newTally(v))
	}
	p.groups(a.View.Admission)
	p.ranks(a.View)
	if layout := newLayout(observed(a.View)); layout != nil {
		p.blank()
		p.grid(layout)
	}
	if core := a.View.Core; core != nil {
		p.blank()
		p.item("  ", "engine core: ", core.Outcome+": "+core.Message)
	}
	p.history(a.Others)
	if a.View.Verdict != nil {
		p.footer(a.View.Verdict)
	}
	return p.flush(w)
}

// State says in words where an attempt stands: open, admitted, rejected, or how else it ended.
func State(view *v1.AttemptView) string {
	switch {
	case view.Admission != nil && view.Admission.Outcome == v1.Allow:
		return "admitted"
	case view.Admission != nil:
		return "rejected"
	case view.End != nil:
		return strings.ReplaceAll(view.End.Kind, "_", " ")
	default:
		return "open"
	}
}

func (p *page) attemptTitle(view *v1.AttemptView) {
	state := State(view)
	colour := map[string]string{"admitted": green, "open": yellow}[state]
	title := fmt.Sprintf("engine %s, attempt %d: ", clean(view.Engine), view.Attempt)
	left := (time.Duration(view.RemainingMS) * time.Millisecond).Round(time.Second)
	switch {
	case view.Phase == v1.PhaseReport && len(view.Missing) == 0:
		title += fmt.Sprintf("all %d ranks reported, the verdict is being made, %s left", view.WorldSize, left)
	case view.Phase == v1.PhaseReport:
		title += fmt.Sprintf("%d of %d ranks reported, %s left for the others", len(view.Ranks), view.WorldSize, left)
	case view.Phase == v1.PhaseProbe:
		title += fmt.Sprintf("%d of %d ranks answered the probe, %s left for the others",
			len(view.Ranks)-len(view.Unanswered), len(view.Ranks), left)
	case view.Ended != nil:
		title += fmt.Sprintf("%d of %d ranks reported, ended after %s", len(view.Ranks), view.WorldSize, span(view.Ended.Sub(view.Opened)))
	}
	p.heading("", p.paint(cmp.Or(colour, red), strings.ToUpper(state)), title)
	p.text("  ", fmt.Sprintf("opened %s, id %s", view.Opened.UTC().Format(time.RFC3339), clean(view.AttemptID)))
}

// message is why the attempt ended as it did.
func (p *page) message(view *v1.AttemptView) {
	if view.End == nil || view.End.Message == "" {
		return
	}
	p.blank()
	p.paragraphs(view.End.Message)
}

// waitedFor names the ranks that are waited for, or were in vain.
func (p *page) waitedFor(a Attempt) {
	since := ""
	if a.View.End == nil {
		since = " for " + span(a.Now.Sub(a.View.Opened))
	}
	for _, list := range []struct {
		what  string
		ranks []int64
	}{{"no report from ", a.View.Missing}, {"no answer to the probe from ", a.View.Unanswered}} {
		if len(list.ranks) > 0 {
			p.blank()
			p.item("  ", "missing: ", list.what+topology.RankList(list.ranks)+since)
		}
	}
}

// groups lists the probed groups that are not shared, and those of which facts and probe say different things.
func (p *page) groups(admission *v1.Admission) {
	if admission == nil {
		return
	}
	for _, g := range admission.Groups {
		if g.Outcome == v1.Shared && g.Facts == v1.Shared {
			continue
		}
		lead := "probe:"
		if g.Facts != v1.Unknown && g.Outcome != v1.Unknown && g.Facts != g.Outcome {
			lead = p.paint(red, "facts and probe disagree") + ":"
		}
		p.blank()
		p.heading("  ", lead, fmt.Sprintf("%s group of %s is %s by the probe, %s by the facts", clean(g.Kind),
			topology.RankList(g.Ranks), words(g.Outcome), words(g.Facts)))
		for _, m := range g.Members[:p.limit(len(g.Members))] {
			p.item("    ", "- ", fmt.Sprintf("rank %d on %s: %s, %s", m.Rank, m.Node, words(m.Outcome), m.Reason))
		}
		p.more("    ", len(g.Members)-p.limit(len(g.Members))+int(g.MoreMembers))
	}
}

// history lists the other attempts of the engine, each on a line.
func (p *page) history(others []v1.AttemptView) {
	if len(others) == 0 {
		return
	}
	p.blank()
	p.text("  ", p.paint(bold, "other attempts"))
	for _, view := range others {
		text := fmt.Sprintf("%d  %s  %s", view.Attempt, view.Opened.UTC().Format(time.RFC3339), State(&view))
		if view.End != nil && view.End.Message != "" {
			first, _, _ := strings.Cut(view.End.Message, "\n")
			text += ": " + first
		}
		p.item("    ", "", text)
	}
}

func (p *page) painted(outcome string) string {
	return p.paint(map[string]string{v1.Allow: green, v1.Deny: red}[outcome], clean(outcome)+":")
}

func words(outcome string) string { return strings.ReplaceAll(clean(outcome), "_", " ") }

// span is a duration for people.
func span(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	if d < 10*time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
