package output

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// maxRankRows is how many ranks are listed one by one.
const maxRankRows = 16

// ranks lists who reported, from where and when, and what each found. Where there are many, those that found all shared are
// counted instead.
func (p *page) ranks(view *v1.AttemptView) {
	if len(view.Ranks) == 0 {
		return
	}
	p.blank()
	p.text("  ", p.paint(bold, "ranks that reported")+", with the leader's segment that each opened")
	shown := view.Ranks
	if !p.Verbose && len(shown) > maxRankRows {
		shown = slices.DeleteFunc(slices.Clone(shown), quietRank)
		shown = shown[:min(len(shown), maxRankRows)]
	}
	nodes := 0
	for _, r := range shown {
		nodes = max(nodes, visible(rankNode(&r)))
	}
	for _, r := range shown {
		late := span(r.Reported.Sub(view.Opened))
		line := fmt.Sprintf("%4d  %s  %s  +%-7s %s", r.Rank, pad(rankNode(&r), nodes), memory(&r), late, p.findingsOf(&r))
		p.text("  ", line)
		for _, probe := range r.Probe {
			if probe.Outcome != v1.Shared && probe.Reason != "" {
				p.item("          ", probe.Kind+": ", probe.Reason)
			}
		}
	}
	if rest := len(view.Ranks) - len(shown); rest > 0 {
		p.text("        ", fmt.Sprintf("... and %d more ranks (--verbose lists all)", rest))
	}
}

// quietRank found everything shared, or was not asked.
func quietRank(r v1.RankView) bool {
	return !slices.ContainsFunc(r.Probe, func(p v1.RankProbe) bool { return p.Outcome != v1.Shared })
}

func rankNode(r *v1.RankView) string {
	name := clean(nodeName(r.Node))
	if r.Pod != "" && r.Pod != r.Node {
		name += "/" + clean(r.Pod)
	}
	return name
}

// memory names the rank's memory domain, which is what decides.
func memory(r *v1.RankView) string {
	if r.Domain < 0 {
		return "memory ?"
	}
	return "memory " + letter(int(r.Domain))
}

func (p *page) findingsOf(r *v1.RankView) string {
	if r.Probe == nil {
		return p.paint(faint, "no probe")
	}
	var found []string
	for _, probe := range r.Probe {
		colour := red
		if probe.Outcome == v1.Shared {
			colour = green
		}
		found = append(found, fmt.Sprintf("%s of rank %d %s", clean(probe.Kind), probe.Leader, p.paint(colour, words(probe.Outcome))))
	}
	return strings.Join(found, ", ")
}
