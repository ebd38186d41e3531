package topology

import (
	"cmp"
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// maxOffGrid is how many declared groups that do not fit are listed. A document of a megabyte can hold thousands, each of
// which would list a line of up to MaxRanks ranks.
const maxOffGrid = 16

// ranks lists what is wrong with the declared workers, or is nil where there is nothing to compare.
func (f *folder) ranks() *Ranks {
	world := f.p.Grid.World()
	if len(f.launch.Workers) == 0 || world == 0 {
		return nil
	}
	facts := &Ranks{
		World:      world,
		Missing:    notNil(f.p.absent),
		Duplicate:  f.duplicates(),
		OutOfRange: []int64{},
		OffGrid:    []OffGrid{},
	}
	var check *membership
	for i := range f.launch.Workers {
		w := &f.launch.Workers[i]
		if w.Rank < 0 || w.Rank >= world {
			facts.OutOfRange = append(facts.OutOfRange, w.Rank)
			continue
		}
		if len(w.Groups) == 0 {
			continue
		}
		if check == nil {
			check = newMembership(f.p.Grid, f.engine)
		}
		facts.OffGrid = check.worker(facts.OffGrid, w)
	}
	slices.Sort(facts.OutOfRange)
	facts.OutOfRange = slices.Compact(facts.OutOfRange)
	slices.SortStableFunc(facts.OffGrid, func(a, b OffGrid) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Node, b.Node))
	})
	if more := len(facts.OffGrid) - maxOffGrid; more > 0 {
		facts.OffGrid, facts.OffGridMore = facts.OffGrid[:maxOffGrid], int64(more)
	}
	for i := range facts.OffGrid {
		facts.OffGrid[i].Expected = check.expected(&facts.OffGrid[i])
	}
	return facts
}

// duplicates lists the ranks claimed more than once, with the nodes that claim them.
func (f *folder) duplicates() []DuplicateRank {
	list := make([]DuplicateRank, len(f.p.duplicate))
	if len(list) == 0 {
		return list
	}
	for i, rank := range f.p.duplicate {
		list[i].Rank = rank
	}
	for i := range f.launch.Workers {
		w := &f.launch.Workers[i]
		if at, found := slices.BinarySearch(f.p.duplicate, w.Rank); found {
			list[at].Nodes = append(list[at].Nodes, w.Node)
		}
	}
	for i := range list {
		slices.Sort(list[i].Nodes)
		list[i].Nodes = slices.Compact(list[i].Nodes)
	}
	return list
}

// membership checks declared groups against the grid. The order inside a declared group does not matter.
type membership struct {
	lines map[string][]Lines
	// seen holds, by rank, the number of the declared group that last named it.
	seen   []int64
	groups int64
	// open are the kinds whose groups are not known, so that they cannot be judged.
	open []string
}

func newMembership(grid Grid, engine *Engine) *membership {
	m := &membership{lines: make(map[string][]Lines, 6), seen: make([]int64, grid.World())}
	if engine.unresolved(SettingDecodeContext) != nil {
		m.open = append(m.open, DCP)
	}
	if grid.Data != engine.Data {
		m.open = append(m.open, DP, EP)
	}
	for _, kind := range [...]string{TP, PP, PCP, DP, EP} {
		m.lines[kind] = []Lines{grid.Lines(kind)}
	}
	// The version that draws the line between the rules is not known, so that a group by either is right.
	m.lines[DCP] = []Lines{
		grid.DecodeLines(engine.DecodeContext, DecodePrefillFastest),
		grid.DecodeLines(engine.DecodeContext, DecodeConsecutive),
	}
	return m
}

// worker appends the groups of a worker in the grid that are not its lines.
func (m *membership) worker(off []OffGrid, w *v1.Worker) []OffGrid {
	for kind, declared := range w.Groups {
		if slices.Contains(m.open, kind) {
			continue
		}
		candidates := m.lines[kind]
		if slices.ContainsFunc(candidates, func(l Lines) bool { return m.is(l, w.Rank, declared) }) {
			continue
		}
		off = append(off, OffGrid{Rank: w.Rank, Node: w.Node, Kind: kind, Declared: notNil(declared)})
	}
	return off
}

// expected is the line of the grid in place of a declared group.
func (m *membership) expected(off *OffGrid) []int64 {
	expected := []int64{}
	if candidates := m.lines[off.Kind]; len(candidates) > 0 && candidates[0].Count > 0 {
		expected = candidates[0].Append(expected, candidates[0].GroupOf(off.Rank))
	}
	return expected
}

// is tells whether the declared ranks are exactly the rank's group.
func (m *membership) is(lines Lines, rank int64, declared []int64) bool {
	if lines.Count == 0 || int64(len(declared)) != lines.Size {
		return false
	}
	m.groups++
	group := lines.GroupOf(rank)
	for _, member := range declared {
		if member < 0 || member >= int64(len(m.seen)) || m.seen[member] == m.groups || lines.GroupOf(member) != group {
			return false
		}
		m.seen[member] = m.groups
	}
	return true
}

// notNil keeps an empty list a list in JSON.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
