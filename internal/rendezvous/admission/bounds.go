package admission

import (
	v1 "github.com/tiergate/tiergate/api/v1"
)

// The bounds of what an admission lists: it is kept as one record and sent to every rank.
const (
	maxMembers = 16
	maxListed  = 192 << 10 // bytes of JSON, about
)

// listed are the groups that an admission shows, those that are not shared before all others, and how many it leaves
// out.
func listed(groups []group) (list []v1.ProbedGroup, more int64) {
	show := make([]bool, len(groups))
	left, shown := maxListed, 0
	for _, proved := range [...]bool{false, true} {
		for i := range groups {
			if groups[i].proved() != proved {
				continue
			}
			left -= weight(&groups[i])
			show[i] = left >= 0
			if show[i] {
				shown++
			}
		}
	}
	for i := range groups {
		if !show[i] {
			continue
		}
		g := groups[i].ProbedGroup
		if extra := len(g.Members) - maxMembers; extra > 0 {
			g.Members, g.MoreMembers = g.Members[:maxMembers:maxMembers], int64(extra)
		}
		list = append(list, g)
	}
	return list, int64(len(groups) - shown)
}

// weight is about what a group takes as JSON.
func weight(g *group) int {
	const object, rank = 72, 5
	sum := object + rank*len(g.Ranks)
	for i := range g.Members[:min(len(g.Members), maxMembers)] {
		sum += object + len(g.Members[i].Node) + len(g.Members[i].Reason)
	}
	return sum
}
