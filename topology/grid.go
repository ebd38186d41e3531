package topology

import (
	"fmt"
	"math"
)

// MaxRanks is how many ranks of one launch are judged, counted over all replicas. It is far above any engine that exists
// and bounds what a document of a few bytes can make Fold allocate.
const MaxRanks = 65536

// Grid holds the sizes of the grid of each replica and the number of replicas. Ranks are numbered
// (((d*Pipeline + p)*PrefillContext + c)*Tensor) + t, as vLLM's parallel state lays them out. A size of 0 is one that is
// not known or below 1; such a grid has no ranks.
type Grid struct {
	Tensor         int64
	PrefillContext int64
	Pipeline       int64
	Data           int64
}

// NewGrid takes sizes as a user wrote them. Sizes below 1 become 0 and are no error, because vLLM's own answer to them is
// the parallel.config check's; a grid of more than MaxRanks ranks is an *InputError.
func NewGrid(tensor, prefillContext, pipeline, data int64) (Grid, error) {
	g := Grid{max(tensor, 0), max(prefillContext, 0), max(pipeline, 0), max(data, 0)}
	if g.Replica() > MaxRanks || g.World() > MaxRanks {
		return Grid{}, &InputError{
			Code:    CodeTooManyRanks,
			Pointer: "/engine/parallel",
			Detail: fmt.Sprintf("tensor %d x prefill_context %d x pipeline %d x data %d is more than the %d ranks that are judged; "+
				"check the sizes", tensor, prefillContext, pipeline, data, MaxRanks),
		}
	}
	return g, nil
}

// gridOf takes the sizes that are known before the engine starts. At registration the grid is that of the one replica whose
// workers reported: the others register on their own, as engines of their own.
func gridOf(e *Engine, stage string) (Grid, error) {
	known := func(setting string, size int64) int64 {
		if e.unresolved(setting) != nil {
			return 0
		}
		return size
	}
	data := int64(1)
	if stage != StageRegistration {
		data = known(SettingData, e.Data)
	}
	return NewGrid(known(SettingTensor, e.Tensor), known(SettingPrefillContext, e.PrefillContext),
		known(SettingPipeline, e.Pipeline), data)
}

// Replica is the world size of one replica, 0 where a size is 0. It does not overflow: what exceeds int64 is its maximum.
func (g Grid) Replica() int64 {
	return saturatingProduct(saturatingProduct(g.Tensor, g.PrefillContext), g.Pipeline)
}

// World is the number of ranks over all replicas, 0 where a size is 0.
func (g Grid) World() int64 { return saturatingProduct(g.Replica(), g.Data) }

// saturatingProduct multiplies factors that are not negative.
func saturatingProduct(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// saturatingSum adds summands that are not negative.
func saturatingSum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
