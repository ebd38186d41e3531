package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// Waiting is what is known while ranks wait for the answer of a service.
type Waiting struct {
	Engine, Server string
	World          int64
	// Progress is what the service last said; nil before it said anything.
	Progress *v1.Progress
	// View is the attempt with the nodes of its ranks; nil where it is not known.
	View *v1.AttemptView
	// Left is what is left of the phase, or of the deadline before there is one; Silent is how long nothing was heard.
	Left, Silent time.Duration
}

// silence is how long a service may be quiet before it is mentioned.
const silence = 5 * time.Second

// Line says it on one line, without the nodes.
func (w *Waiting) Line() string {
	if w.Progress == nil {
		return w.title()
	}
	return w.title() + "; missing: " + w.missing()
}

// Lines says it on several lines of at most so many columns.
func (w *Waiting) Lines(columns int) []string {
	lines := []string{w.title()}
	if w.Progress != nil {
		if here := w.here(); here != "" {
			lines = append(lines, "  here     "+here)
		}
		lines = append(lines, "  missing  "+w.missing())
	}
	for i, line := range lines {
		if text := []rune(line); len(text) > columns {
			lines[i] = string(text[:max(columns-3, 0)]) + "..."
		}
	}
	return lines
}

func (w *Waiting) title() string {
	left := fmt.Sprintf("%d s left", max(w.Left, 0).Round(time.Second)/time.Second)
	switch {
	case w.Progress == nil && w.Silent > silence:
		return fmt.Sprintf("engine %s: no answer from %s for %d s, %s", clean(w.Engine), clean(w.Server), w.Silent/time.Second, left)
	case w.Progress == nil:
		return fmt.Sprintf("engine %s: reporting to %s, %s", clean(w.Engine), clean(w.Server), left)
	}
	what := "waiting for reports"
	if w.Progress.Phase == v1.PhaseProbe {
		what = "probing shared memory"
	}
	missing := int64(len(w.Progress.Missing))
	text := fmt.Sprintf("engine %s, attempt %d: %s, %d of %d ranks, %s", clean(w.Engine), w.Progress.Attempt, what,
		w.World-missing, w.World, left)
	if w.Silent > silence {
		text += fmt.Sprintf(" (the service has been silent for %d s)", w.Silent/time.Second)
	}
	return text
}

func (w *Waiting) missing() string {
	switch {
	case len(w.Progress.Missing) > 0:
		return topology.RankList(w.Progress.Missing)
	case w.Progress.Phase == v1.PhaseProbe:
		return "nobody; the admission is being made"
	default:
		return "nobody; the verdict is being made"
	}
}

// here names the ranks that have reported by node, in the order of their first ranks.
func (w *Waiting) here() string {
	if w.View == nil || w.View.AttemptID != w.Progress.AttemptID {
		return ""
	}
	ranks := map[string][]int64{}
	for _, r := range w.View.Ranks {
		ranks[nodeName(r.Node)] = append(ranks[nodeName(r.Node)], r.Rank)
	}
	var nodes []string
	for node := range ranks {
		nodes = append(nodes, node)
	}
	slices.SortFunc(nodes, func(a, b string) int { return cmp.Compare(ranks[a][0], ranks[b][0]) })
	for i, node := range nodes {
		nodes[i] = clean(node) + " " + strings.TrimPrefix(strings.TrimPrefix(topology.RankList(ranks[node]), "ranks "), "rank ")
	}
	return strings.Join(nodes, "; ")
}
