package topology

import "github.com/agnivade/levenshtein"

// scanned is up to how many names a search by comparison is faster than building and asking a map.
const scanned = 16

// interner numbers distinct names in the order in which they come.
type interner struct {
	list  []string
	index map[string]int32
	last  int32
}

func newInterner(capacity int) interner { return interner{list: make([]string, 0, capacity)} }

// find returns the number of a name, or -1. Workers mostly come in the order of their nodes, so that the name found last
// and its successor are tried first.
func (n *interner) find(name string) int32 {
	for i := n.last; i < n.last+2 && int(i) < len(n.list); i++ {
		if n.list[i] == name {
			n.last = i
			return i
		}
	}
	found := int32(-1)
	if n.index != nil {
		if i, ok := n.index[name]; ok {
			found = i
		}
	} else {
		for i := range n.list {
			if n.list[i] == name {
				found = int32(i)
				break
			}
		}
	}
	if found >= 0 {
		n.last = found
	}
	return found
}

// add returns the number of a name and whether it is new.
func (n *interner) add(name string) (int32, bool) {
	if i := n.find(name); i >= 0 {
		return i, false
	}
	i := int32(len(n.list))
	n.list = append(n.list, name)
	n.last = i
	switch {
	case n.index != nil:
		n.index[name] = i
	case len(n.list) > scanned:
		n.index = make(map[string]int32, cap(n.list))
		for at, known := range n.list {
			n.index[known] = int32(at)
		}
	}
	return i, true
}

// The bounds of a search for a near name keep an error cheap, whatever the document holds.
const (
	nearestLength     = 64
	nearestCandidates = 4096
)

// nearest returns the candidate at the smallest edit distance, or empty where none is within a third of the name's length.
func nearest(name string, candidates []string) string {
	if len(name) > nearestLength {
		return ""
	}
	best, limit := "", max(len(name)/3, 1)+1
	for _, candidate := range candidates[:min(len(candidates), nearestCandidates)] {
		if len(candidate) > len(name)+limit || len(candidate) < len(name)-limit {
			continue
		}
		if distance := levenshtein.ComputeDistance(name, candidate); distance < limit {
			best, limit = candidate, distance
		}
	}
	return best
}
