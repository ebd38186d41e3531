package output

import (
	"fmt"
	"strconv"
	"strings"
)

// drawing is how rows of the grid fit the page. The first of these forms that is narrow enough is taken: a cell for each rank
// with the name of its node, the same with a letter for each node, and neighbours on one node as a run, with names or
// letters.
type drawing struct {
	layout *layout
	width  int
	// letters are by node; nil where names are drawn.
	letters map[string]string
	runs    bool
	// The columns that ranks, labels of nodes and heads of rows take.
	rankWidth, labelWidth, headWidth int
}

const (
	gridIndent = "    "
	// kindsWidth is what the longest list of kinds behind a row takes.
	kindsWidth = len(" tp pp pcp")
)

func newDrawing(l *layout, rows []row, width int) *drawing {
	d := &drawing{layout: l, width: width, rankWidth: len(strconv.FormatInt(l.grid.World()-1, 10))}
	for _, r := range rows {
		d.headWidth = max(d.headWidth, len(d.head(r)))
	}
	if d.headWidth > 0 {
		d.headWidth += 2 // the gap before the cells
	}
	letters := map[string]string{}
	for i, n := range l.placement.Nodes() {
		letters[n.Node] = letter(i)
	}
	for _, d.runs = range []bool{false, true} {
		for _, d.letters = range []map[string]string{nil, letters} {
			if d.fits(rows) {
				return d
			}
		}
	}
	return d
}

// letter numbers nodes as a spreadsheet numbers columns: A to Z, then AA.
func letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return letter(i/26-1) + letter(i%26)
}

// fits measures the labels and tells whether all rows are narrow enough.
func (d *drawing) fits(rows []row) bool {
	d.labelWidth = 0
	for _, r := range rows {
		for t := range d.layout.grid.Tensor {
			d.labelWidth = max(d.labelWidth, visible(d.label(d.layout.cell(r.first+t))))
		}
	}
	for _, r := range rows {
		used := len(gridIndent) + d.headWidth + kindsWidth
		for _, p := range d.parts(r) {
			used += visible(p.text) + 1
		}
		if used > d.width {
			return false
		}
	}
	return true
}

func (d *drawing) label(c cell) string {
	if short, found := d.letters[c.node]; found {
		return short
	}
	return clean(c.node)
}

// part is a cell, or a run of like cells.
type part struct {
	cell
	text string
}

// parts are the cells of a row, or its runs.
func (d *drawing) parts(r row) (list []part) {
	end := r.first + d.layout.grid.Tensor
	for rank := r.first; rank < end; {
		c := d.layout.cell(rank)
		if !d.runs {
			text := fmt.Sprintf("%*d %s", d.rankWidth, rank, pad(d.label(c)+c.mark, d.labelWidth+1))
			list = append(list, part{c, text})
			rank++
			continue
		}
		last := rank
		for last+1 < end && d.layout.cell(last+1).like(c) {
			last++
		}
		text := strconv.FormatInt(rank, 10)
		if last > rank {
			text += "-" + strconv.FormatInt(last, 10)
		}
		list = append(list, part{c, text + " " + d.label(c) + c.mark})
		rank = last + 1
	}
	return list
}

// head names a row by the axes that have more than one entry.
func (d *drawing) head(r row) string {
	grid := d.layout.grid
	axes := []struct {
		name        string
		size, index int64
	}{
		{"dp", grid.Data, r.first / grid.Replica()},
		{"pp", grid.Pipeline, r.first / grid.Tensor / grid.PrefillContext % grid.Pipeline},
		{"pcp", grid.PrefillContext, r.first / grid.Tensor % grid.PrefillContext},
	}
	var names []string
	for _, axis := range axes {
		if axis.size > 1 {
			names = append(names, fmt.Sprintf("%s%-*d", axis.name, len(strconv.FormatInt(axis.size-1, 10)), axis.index))
		}
	}
	return strings.Join(names, " ")
}

// header names the columns; runs have none.
func (d *drawing) header() string {
	if d.runs || d.layout.grid.Tensor == 1 {
		return ""
	}
	line := strings.Repeat(" ", d.headWidth)
	for t := range d.layout.grid.Tensor {
		line += fmt.Sprintf("%-*s", d.rankWidth+1+d.labelWidth+2, fmt.Sprintf("tp%d", t))
	}
	return line
}

// row draws one row; of runs that are too long even so it says how many ranks are left out.
func (d *drawing) row(r row, style Style) string {
	line, used := pad(d.head(r), d.headWidth), len(gridIndent)+d.headWidth+kindsWidth
	const cut = len("... 65536 more")
	for i, p := range d.parts(r) {
		used += visible(p.text) + 1
		if i > 0 && used+cut > d.width && d.runs && !d.fits([]row{r}) {
			line += fmt.Sprintf("... %d more", r.first+d.layout.grid.Tensor-p.rank)
			break
		}
		line += style.domain(p.domain, p.text) + " "
	}
	return strings.TrimRight(line+" "+r.kinds(), " ")
}
