package topology

import v1 "github.com/tiergate/tiergate/api/v1"

// probedKinds are the axes whose lines connect a replica's grid: it shares one memory domain exactly when each of their
// groups does, so that no other kind needs a proof. Ranks ask them in this order, as vLLM #62930 does.
var probedKinds = [...]string{TP, PP, PCP}

// ProbeGroups lists every TP, PP and PCP group of more than one rank, in that order, with global ranks over all replicas, and
// at registration with those within the one replica. It is nil where the sizes of the grid are unknown, below 1, or too large
// to judge.
func ProbeGroups(engine *Engine, stage string) []v1.Group {
	grid, err := gridOf(engine, stage)
	if err != nil {
		return nil
	}
	var count, total int64
	for _, kind := range probedKinds {
		if lines := grid.Lines(kind); lines.Size > 1 {
			count += lines.Count
			total += grid.World()
		}
	}
	if count == 0 {
		return nil
	}
	groups, ranks := make([]v1.Group, 0, count), make([]int64, 0, total)
	for _, kind := range probedKinds {
		lines := grid.Lines(kind)
		if lines.Size < 2 {
			continue
		}
		for group := range lines.Count {
			start := len(ranks)
			ranks = lines.Append(ranks, group)
			groups = append(groups, v1.Group{Kind: kind, Ranks: ranks[start:len(ranks):len(ranks)]})
		}
	}
	return groups
}
