package topology

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// silent is the label of a worker that did not report what is compared.
const silent = -1

// cohort is the workers that agree on something.
type cohort struct {
	ranks string
	nodes []string
}

// versions groups the ranks by the engine version that their workers reported, the first rank's first.
func (f *folder) versions() []VersionGroup {
	workers := f.launch.Workers
	if !slices.ContainsFunc(workers, func(w v1.Worker) bool { return w.Version != "" }) {
		return nil
	}
	labels, seen, order := make([]int32, len(workers)), newInterner(1), f.byRank()
	for _, i := range order {
		labels[i] = silent
		if workers[i].Version != "" {
			labels[i], _ = seen.add(workers[i].Version)
		}
	}
	groups := make([]VersionGroup, len(seen.list))
	for label, c := range f.cohorts(order, labels, len(groups)) {
		groups[label] = VersionGroup{Version: seen.list[label], Ranks: c.ranks, Nodes: c.nodes}
	}
	return groups
}

// configurations groups the ranks by the canonical configuration that their workers reported and says in which fields each
// differs from the first rank's.
func (f *folder) configurations() []ConfigurationGroup {
	workers := f.launch.Workers
	if !slices.ContainsFunc(workers, func(w v1.Worker) bool { return w.Config != nil }) {
		return nil
	}
	labels, seen, order := make([]int32, len(workers)), newInterner(1), f.byRank()
	var distinct []canonical
	var last *v1.Configuration
	label := int32(silent)
	for _, i := range order {
		labels[i] = silent
		config := workers[i].Config
		if config == nil {
			continue
		}
		// Most workers repeat the text of the one before, which then need not be parsed.
		same := last != nil && settingsOf(config) == settingsOf(last) && bytes.Equal(config.KVTransfer, last.KVTransfer)
		if !same {
			this := canonical{settingsOf(config), canonicalTransfer(config.KVTransfer)}
			added := false
			if label, added = seen.add(this.key()); added {
				distinct = append(distinct, this)
			}
		}
		labels[i], last = label, config
	}
	groups := make([]ConfigurationGroup, len(distinct))
	for label, c := range f.cohorts(order, labels, len(groups)) {
		groups[label] = ConfigurationGroup{Ranks: c.ranks, Nodes: c.nodes, Differs: distinct[label].differs(&distinct[0])}
	}
	return groups
}

// byRank is the order of the workers by rank, then node.
func (f *folder) byRank() []int32 {
	workers := f.launch.Workers
	order := make([]int32, len(workers))
	for i := range order {
		order[i] = int32(i)
	}
	compare := func(a, b int32) int {
		return cmp.Or(cmp.Compare(workers[a].Rank, workers[b].Rank), strings.Compare(workers[a].Node, workers[b].Node))
	}
	if !slices.IsSortedFunc(order, compare) {
		slices.SortStableFunc(order, compare)
	}
	return order
}

// cohorts collects the workers of each label, 0 <= label < count, in the given order.
func (f *folder) cohorts(order, labels []int32, count int) []cohort {
	ends := make([]int, count+1)
	for _, label := range labels {
		if label != silent {
			ends[label+1]++
		}
	}
	for label := range count {
		ends[label+1] += ends[label]
	}
	members, next := make([]int32, ends[count]), slices.Clone(ends)
	for _, i := range order {
		if label := labels[i]; label != silent {
			members[next[label]] = i
			next[label]++
		}
	}
	list, seen := make([]cohort, count), make([]int32, len(f.p.nodes.list))
	var ranks []int64
	for label := range list {
		ranks = ranks[:0]
		for _, i := range members[ends[label]:ends[label+1]] {
			ranks = append(ranks, f.launch.Workers[i].Rank)
			// A node is named once per cohort: seen holds the cohort that last named it, counted from 1.
			if at := f.p.claims[i]; seen[at] != int32(label)+1 {
				seen[at] = int32(label) + 1
				list[label].nodes = append(list[label].nodes, f.p.nodes.list[at].id)
			}
		}
		list[label].ranks = RankList(ranks)
	}
	return list
}
