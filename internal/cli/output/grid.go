package output

import (
	"fmt"
	"slices"
	"strings"
)

// maxRows is how many rows of the grid are drawn before the rest is counted.
const maxRows = 16

// grid draws the ranks of each replica: a row for each pair of pipeline stage and prefill-context slice, a column for each
// tensor-parallel rank. Rows without a spanning group are left out where there are many.
func (p *page) grid(l *layout) {
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

func (l *layout) size() string {
	var axes []string
	for _, axis := range []struct {
		name string
		size int64
	}{{"data", l.grid.Data}, {"pipeline", l.grid.Pipeline}, {"prefill_context", l.grid.PrefillContext}, {"tensor", l.grid.Tensor}} {
		if axis.size > 1 {
			axes = append(axes, fmt.Sprintf("%s %d", axis.name, axis.size))
		}
	}
	ranks := fmt.Sprintf("%d %s", l.grid.World(), plural(int(l.grid.World()), "rank", "ranks"))
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
		p.text("    ", fmt.Sprintf("... %d more %s without a spanning group", rest, plural(rest, "row", "rows")))
	case spanning == rest:
		p.text("    ", fmt.Sprintf("... %d more %s like these (--verbose draws all)", rest, plural(rest, "row", "rows")))
	default:
		p.text("    ", fmt.Sprintf("... %d more rows with a spanning group (--verbose draws all) and %d without",
			spanning, rest-spanning))
	}
}

// meaning explains the marks that are in use.
func (p *page) meaning(l *layout) {
	if l.spans() {
		p.text(gridIndent, "* is in a group that spans nodes, of the kind behind the row")
	}
	if slices.ContainsFunc(l.open, func(k kinds) bool { return k != 0 }) || !l.placement.Known {
		p.text(gridIndent, "? is not known: the node of a rank, or whether the ranks of a group share memory")
	}
}
