package topology

import (
	"bytes"
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// versions groups the ranks by the engine version that their workers reported, the first rank's first.
func (f *folder) versions() []VersionGroup {
	workers := f.launch.Workers
	if !slices.ContainsFunc(workers, func(w v1.Worker) bool { return w.Version != "" }) {
		return nil
	}
	seen, cohorts := newInterner(1), f.newCohorts()
	for _, i := range cohorts.byRank() {
		if workers[i].Version != "" {
			label, _ := seen.add(workers[i].Version)
			cohorts.add(label, i)
		}
	}
	groups := make([]VersionGroup, len(seen.list))
	for label := range groups {
		ranks, nodes := cohorts.describe(label)
		groups[label] = VersionGroup{Version: seen.list[label], Ranks: ranks, Nodes: nodes}
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
	seen, cohorts := newInterner(1), f.newCohorts()
	var distinct []canonical
	var last *v1.Worker
	var label int32
	for _, i := range cohorts.byRank() {
		w := &workers[i]
		if w.Config == nil {
			continue
		}
		// Most workers repeat the text of the one before, which then need not be parsed.
		same := last != nil && settingsOf(w) == settingsOf(last) && bytes.Equal(w.Config.KVTransfer, last.Config.KVTransfer)
		if !same {
			this := canonical{settingsOf(w), canonicalTransfer(w.Config.KVTransfer)}
			added := false
			if label, added = seen.add(this.key()); added {
				distinct = append(distinct, this)
			}
		}
		last = w
		cohorts.add(label, i)
	}
	groups := make([]ConfigurationGroup, len(distinct))
	for label := range groups {
		ranks, nodes := cohorts.describe(label)
		groups[label] = ConfigurationGroup{Ranks: ranks, Nodes: nodes, Differs: distinct[label].differs(&distinct[0])}
	}
	return groups
}
