package output

import (
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/vllm"
)

// layout is where the ranks of a launch are and which of their groups span memory domains, for drawing.
type layout struct {
	grid      topology.Grid
	placement *topology.Placement
	domains   []topology.Domain
	// spanning and open are the kinds of groups of each rank that span domains, or are not known not to; nil for none.
	spanning, open []kinds
	// domainOf is the index of the domain of each node.
	domainOf map[string]int
}

// kinds is a set of group kinds.
type kinds uint8

const (
	tp kinds = 1 << iota
	pp
	pcp
)

func (k kinds) names() (list []string) {
	for i, name := range []string{topology.TP, topology.PP, topology.PCP} {
		if k&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// newLayout is nil where the launch has no grid that could be drawn.
func newLayout(launch *v1.Launch) *layout {
	if launch == nil {
		return nil
	}
	engine, err := vllm.Resolve(launch)
	if err != nil {
		return nil
	}
	placement, err := topology.Place(launch, engine)
	if err != nil || placement.Grid.World() == 0 {
		return nil
	}
	facts, err := topology.Fold(launch, engine, topology.FoldOptions{Stage: topology.StageLaunch})
	if err != nil {
		return nil
	}
	l := &layout{grid: placement.Grid, placement: placement, domains: facts.Domains, domainOf: map[string]int{}}
	for i, domain := range facts.Domains {
		for _, node := range domain.Nodes {
			l.domainOf[node] = i
		}
	}
	if facts.Groups != nil {
		l.spanning, l.open = make([]kinds, l.grid.World()), make([]kinds, l.grid.World())
		l.mark(tp, facts.Groups.TP)
		l.mark(pp, facts.Groups.PP)
		l.mark(pcp, facts.Groups.PCP)
	}
	return l
}

func (l *layout) mark(kind kinds, groups *topology.GroupKind) {
	for _, group := range groups.Spanning {
		for _, rank := range group.Ranks {
			l.spanning[rank] |= kind
		}
	}
	for _, group := range groups.Open {
		for _, rank := range group.Ranks {
			l.open[rank] |= kind
		}
	}
}

// spans tells whether any group spans domains.
func (l *layout) spans() bool {
	return slices.ContainsFunc(l.spanning, func(k kinds) bool { return k != 0 })
}

// cell is one rank as it is drawn.
type cell struct {
	rank   int64
	node   string
	domain int
	mark   string
}

// colour is the index of a node's domain, -1 where it has none.
func (l *layout) colour(node string) int {
	if domain, known := l.domainOf[node]; known {
		return domain
	}
	return -1
}

func (l *layout) cell(rank int64) cell {
	node := l.placement.Node(rank)
	c := cell{rank: rank, node: node, domain: l.colour(node), mark: " "}
	if node == "" {
		c.node = "?"
	}
	switch {
	case l.spanning == nil:
	case l.spanning[rank] != 0:
		c.mark = "*"
	case l.open[rank] != 0:
		c.mark = "?"
	}
	return c
}

func (c cell) like(other cell) bool { return c.node == other.node && c.mark == other.mark }

// row is the ranks of one TP group.
type row struct {
	first          int64
	spanning, open kinds
}

// kinds names the kinds of groups through the row that span domains or, with a question mark, are not known not to.
func (r row) kinds() string {
	list := r.spanning.names()
	for _, name := range (r.open &^ r.spanning).names() {
		list = append(list, name+"?")
	}
	return strings.Join(list, " ")
}

// rows lists the TP groups in rank order, which is replica by replica, then by pipeline stage.
func (l *layout) rows() []row {
	list := make([]row, 0, l.grid.World()/l.grid.Tensor)
	for first := int64(0); first < l.grid.World(); first += l.grid.Tensor {
		r := row{first: first}
		for rank := first; rank < first+l.grid.Tensor && l.spanning != nil; rank++ {
			r.spanning |= l.spanning[rank]
			r.open |= l.open[rank]
		}
		list = append(list, r)
	}
	return list
}
