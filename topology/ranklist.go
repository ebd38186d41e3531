package topology

import (
	"strconv"
	"strings"
)

// maxRuns bounds a list of ranks for people: the grid of a large engine can have thousands of runs, and nobody reads those.
const maxRuns = 16

// RankList names ranks for people, runs of consecutive ones joined: "rank 3", "ranks 0-3, 8". After sixteen runs it counts
// the rest.
func RankList(ranks []int64) string {
	var w rankWriter
	for _, rank := range ranks {
		w.add(rank)
	}
	return string(w.finish())
}

// rankWriter writes a rank list without having it all at once. The run from first to last is still open.
type rankWriter struct {
	text        []byte
	total, runs int
	rest        int
	first, last int64
}

func (w *rankWriter) add(rank int64) {
	w.total++
	switch {
	case w.total == 1:
		w.first = rank
	case w.runs == maxRuns:
		w.rest++
		return
	case rank != w.last+1:
		w.close()
		if w.runs == maxRuns {
			w.rest++
			return
		}
		w.first = rank
	}
	w.last = rank
}

// close writes the open run; it is known by then that there is more than one rank.
func (w *rankWriter) close() {
	if w.runs == 0 {
		w.text = append(w.text, "ranks "...)
	} else {
		w.text = append(w.text, ", "...)
	}
	w.runs++
	w.text = strconv.AppendInt(w.text, w.first, 10)
	if w.last != w.first {
		w.text = strconv.AppendInt(append(w.text, '-'), w.last, 10)
	}
}

// finish returns the list and makes the writer ready for another, which reuses the buffer.
func (w *rankWriter) finish() []byte {
	switch {
	case w.total == 0:
	case w.total == 1:
		w.text = strconv.AppendInt(append(w.text, "rank "...), w.first, 10)
	case w.runs == maxRuns:
		w.text = strconv.AppendInt(append(w.text, " and "...), int64(w.rest), 10)
		w.text = append(w.text, " more"...)
	default:
		w.close()
	}
	text := w.text
	*w = rankWriter{text: text[:0]}
	return text
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
