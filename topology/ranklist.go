package topology

import (
	"strconv"
	"strings"
)

// maxRuns bounds a list of ranks for people: the grid of a large engine can have thousands of runs, and nobody reads those.
const maxRuns = 16

// RankList names ranks for people, runs of consecutive ones joined: "rank 3", "ranks 0-3, 8". After sixteen runs it counts
// the rest.
func RankList(ranks []int64) string { return string(appendRankList(nil, ranks)) }

func appendRankList(dst []byte, ranks []int64) []byte {
	if len(ranks) == 1 {
		return strconv.AppendInt(append(dst, "rank "...), ranks[0], 10)
	}
	dst = append(dst, "ranks "...)
	for runs, start := 0, 0; start < len(ranks); runs++ {
		if runs == maxRuns {
			dst = append(dst, " and "...)
			dst = strconv.AppendInt(dst, int64(len(ranks)-start), 10)
			return append(dst, " more"...)
		}
		end := start + 1
		for end < len(ranks) && ranks[end] == ranks[end-1]+1 {
			end++
		}
		if start > 0 {
			dst = append(dst, ", "...)
		}
		dst = strconv.AppendInt(dst, ranks[start], 10)
		if end > start+1 {
			dst = strconv.AppendInt(append(dst, '-'), ranks[end-1], 10)
		}
		start = end
	}
	return dst
}

// maxIDs is how many node ids a sentence names before it counts the rest.
const maxIDs = 8

// idList names nodes for people: "node gpu-a", "nodes gpu-a, gpu-b".
func idList(ids []string) string {
	switch {
	case len(ids) == 1:
		return "node " + ids[0]
	case len(ids) <= maxIDs:
		return "nodes " + strings.Join(ids, ", ")
	default:
		return "nodes " + strings.Join(ids[:maxIDs], ", ") + " and " + strconv.Itoa(len(ids)-maxIDs) + " more"
	}
}
