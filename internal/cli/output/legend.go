package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tiergate/tiergate/topology"
)

// legend lists the nodes of the drawn rows with their ranks, and which of them share memory, in as many columns as fit.
func (p *page) legend(l *layout, d *drawing, rows []row) {
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
		domain := l.colour(n.Node)
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
		p.text(gridIndent, fmt.Sprintf("... and %d more %s", rest, plural(rest, "node", "nodes")))
	}
}

func (l *layout) nodesOf(rows []row) map[string]bool {
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
func (l *layout) sharing(node string) string {
	domain, known := l.domainOf[node]
	if !known {
		return ""
	}
	var others []string
	for _, other := range l.domains[domain].Nodes {
		if other != node {
			others = append(others, clean(other))
		}
	}
	if len(others) > 3 {
		others = append(others[:3], fmt.Sprintf("%d more", len(others)-3))
	}
	return strings.Join(others, ", ")
}
