package admission

import (
	"strings"
	"unicode"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// maxName is how many bytes of a name are shown, and maxNodes how many nodes a sentence names before it counts the
// rest.
const (
	maxName  = 96
	maxNodes = 8
)

// noName stands for the name of a node that has none.
const noName = "a node without a name"

// NodeName is the name of a rank's node for people. It proves nothing.
func NodeName(r *v1.Report) string {
	if r == nil {
		return noName
	}
	return factsName(&r.Facts)
}

func factsName(f *v1.NodeFacts) string {
	for _, name := range [...]string{f.Node, f.Hostname, f.Pod} {
		if name = clean(name, maxName); name != "" {
			return name
		}
	}
	return noName
}

// RankList names ranks for people: "rank 3", "ranks 0-3, 8". It is bounded.
func RankList(ranks []int64) string { return topology.RankList(ranks) }

// Located says where ranks are, e.g. "rank 0 on gpu-a, ranks 1-3 on gpu-b". It is bounded.
func Located(ranks []int64, nodeOf func(rank int64) string) string {
	var order []string
	by := make(map[string][]int64)
	for _, rank := range ranks {
		node := nodeOf(rank)
		if by[node] == nil {
			order = append(order, node)
		}
		by[node] = append(by[node], rank)
	}
	var text strings.Builder
	for i, node := range order {
		if i > 0 {
			text.WriteString(", ")
		}
		if i == maxNodes {
			text.WriteString("the rest on " + count(len(order)-i, "more node"))
			break
		}
		text.WriteString(RankList(by[node]) + " on " + node)
	}
	return text.String()
}

// clean makes text from elsewhere fit for one line of a message, in at most so many bytes and dots.
func clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(clip(text, most), ""))
	return strings.TrimSpace(text)
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
