package environ

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxRanks bounds a list of ranks: no process answers for more.
const MaxRanks = 8192

// ParseRanks reads a list such as 0-3,8 into ascending order. A rank that is listed twice is an error.
func ParseRanks(text string) ([]int64, error) {
	var ranks []int64
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		first, err := strconv.ParseInt(low, 10, 32)
		last := first
		if err == nil && isRange {
			last, err = strconv.ParseInt(high, 10, 32)
		}
		if err != nil || first < 0 || last < first {
			return nil, fmt.Errorf("ranks are a list such as 0-3,8, in which %q is neither a rank nor a range", part)
		}
		if int64(len(ranks))+last-first >= MaxRanks {
			return nil, fmt.Errorf("one process answers for at most %d ranks", MaxRanks)
		}
		for rank := first; rank <= last; rank++ {
			ranks = append(ranks, rank)
		}
	}
	slices.Sort(ranks)
	for i := 1; i < len(ranks); i++ {
		if ranks[i] == ranks[i-1] {
			return nil, fmt.Errorf("rank %d is listed twice", ranks[i])
		}
	}
	return ranks, nil
}

// ErrNoRanks: the environment does not say which ranks this process is.
var ErrNoRanks = errors.New("the environment does not say which ranks this process answers for")

// RanksOf are the ranks of a world of that size that this process answers for: those of TIERGATE_RANKS, its own, or, where it
// is the only process of its node, the node's block, as vLLM's executor mp spreads ranks over nodes. Errors wrap
// ErrNoRanks.
func (e *Environment) RanksOf(world int64) (Ranks, error) {
	own, counted := e.Rank, e.launchedWorld
	nodes, node := e.Nodes, e.NodeRank
	if !nodes.Known() && e.LocalWorldSize.Value == 1 {
		nodes, node = counted, own
	}
	switch {
	case e.Ranks.Source != "":
		return e.Ranks, nil
	case own.Known() && (!counted.Known() || counted.Value == world):
		return Ranks{[]int64{own.Value}, own.Source}, nil
	case own.Known() && (e.LocalWorldSize.Value > 1 || !nodes.Known() || !node.Known()):
		return Ranks{}, fmt.Errorf("%w: %s counts %d ranks, and the engine has %d", ErrNoRanks, counted.Source, counted.Value, world)
	case !nodes.Known() || !node.Known():
		return Ranks{}, ErrNoRanks
	case world%nodes.Value != 0:
		return Ranks{}, fmt.Errorf("%w: %d ranks do not spread evenly over %d nodes (%s)", ErrNoRanks, world, nodes.Value,
			nodes.Source)
	}
	each := world / nodes.Value
	block := make([]int64, each)
	for i := range block {
		block[i] = node.Value*each + int64(i)
	}
	return Ranks{block, node.Source + " and " + nodes.Source}, nil
}
