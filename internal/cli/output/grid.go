package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tiergate/tiergate/topology"
)

// maxRows is how many rows of the grid are drawn before the rest is counted.
const maxRows = 16

// grid draws the ranks of each replica: a row for each pair of pipeline stage and prefill-context slice, a column for each
// tensor-parallel rank. Rows without a spanning group are left out where there are many.
func (p *page) grid(l *Layout) {
	p.text("  ", p.paint(bold, "rank grid")+" of "+l.size())
	all := l.rows()
	rows := p.chosen(all)
	d := newDrawing(l, rows, p.Width)
	if header := d.header(); header != "" {
		p.text(gridIndent, header)
	}
	plain := p.Style
	plain.Colour = p.Colour && l.spans()
	for _, r := range rows {
		p.text(gridIndent, d.row(r, plain))
	}
	p.rest(all, rows)
	p.meaning(l)
	p.legend(l, d, rows)
}

func (l *Layout) size() string {
	var axes []string
	for _, axis := range []struct {
		name string
		size int64
	}{{"data", l.grid.Data}, {"pipeline", l.grid.Pipeline}, {"prefill_context", l.grid.PrefillContext}, {"tensor", l.grid.Tensor}} {
		if axis.size > 1 {
			axes = append(axes, fmt.Sprintf("%s %d", axis.name, axis.size))
		}
	}
	ranks := fmt.Sprintf("%d %s", l.grid.World(), verb(int(l.grid.World()), "rank", "ranks"))
	if axes == nil {
		return ranks
	}
	return ranks + ": " + strings.Join(axes, " x ")
}

// chosen returns the rows to draw: all of a small grid, else those in a spanning or open group, up to a limit.
func (p *page) chosen(all []row) []row {
	if p.Verbose || len(all) <= maxRows {
		return all
	}
	marked := slices.DeleteFunc(slices.Clone(all), func(r row) bool { return r.spanning|r.open == 0 })
	if len(marked) == 0 {
		marked = all
	}
	return marked[:min(len(marked), maxRows)]
}

// rest counts the rows that were left out.
func (p *page) rest(all, drawn []row) {
	spanning := 0
	for _, r := range all {
		if r.spanning|r.open != 0 {
			spanning++
		}
	}
	for _, r := range drawn {
		if r.spanning|r.open != 0 {
			spanning--
		}
	}
	rest := len(all) - len(drawn)
	switch {
	case rest == 0:
	case spanning == 0:
		p.text("    ", fmt.Sprintf("... %d more %s without a spanning group", rest, verb(rest, "row", "rows")))
	case spanning == rest:
		p.text("    ", fmt.Sprintf("... %d more %s like these (--verbose draws all)", rest, verb(rest, "row", "rows")))
	default:
		p.text("    ", fmt.Sprintf("... %d more rows with a spanning group (--verbose draws all) and %d without",
			spanning, rest-spanning))
	}
}

// meaning explains the marks that are in use.
func (p *page) meaning(l *Layout) {
	if l.spans() {
		p.text(gridIndent, "* is in a group that spans nodes, of the kind behind the row")
	}
	if slices.ContainsFunc(l.open, func(k kinds) bool { return k != 0 }) || !l.placement.Known {
		p.text(gridIndent, "? is not known: the node of a rank, or whether the ranks of a group share memory")
	}
}

// legend lists the nodes of the drawn rows with their ranks, and which of them share memory, in as many columns as fit.
func (p *page) legend(l *Layout, d *drawing, rows []row) {
	drawn := l.nodesOf(rows)
	nodes := slices.DeleteFunc(l.placement.Nodes(), func(n topology.NodeRanks) bool { return len(n.Ranks) == 0 })
	nameWidth, letterWidth := 0, 0
	for node := range drawn {
		nameWidth, letterWidth = max(nameWidth, visible(clean(node))), max(letterWidth, len(d.letters[node]))
	}
	var entries []entry
	for _, n := range nodes {
		if !drawn[n.Node] {
			continue
		}
		domain := l.domainOf[n.Node]
		e := entry{head: p.domain(domain, pad(clean(n.Node), nameWidth)), text: " " + topology.RankList(n.Ranks)}
		if letterWidth > 0 {
			e.head = p.domain(domain, pad(d.letters[n.Node], letterWidth)) + " = " + e.head
		}
		if others := l.sharing(n.Node); others != "" {
			e.text += ", shares /dev/shm with " + others
		}
		entries = append(entries, e)
	}
	p.columns(gridIndent, entries)
	if rest := len(nodes) - len(entries); rest > 0 {
		p.text(gridIndent, fmt.Sprintf("... and %d more %s", rest, verb(rest, "node", "nodes")))
	}
}

func pad(text string, width int) string { return text + strings.Repeat(" ", width-visible(text)) }

func (l *Layout) nodesOf(rows []row) map[string]bool {
	set := map[string]bool{}
	for _, r := range rows {
		for t := range l.grid.Tensor {
			if node := l.placement.Node(r.first + t); node != "" {
				set[node] = true
			}
		}
	}
	return set
}

// sharing names the other nodes of a node's domain.
func (l *Layout) sharing(node string) string {
	var others []string
	for _, other := range l.domains[l.domainOf[node]].Nodes {
		if other != node {
			others = append(others, clean(other))
		}
	}
	if len(others) > 3 {
		others = append(others[:3], fmt.Sprintf("%d more", len(others)-3))
	}
	return strings.Join(others, ", ")
}
