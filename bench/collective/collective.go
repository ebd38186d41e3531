package collective

import (
	"fmt"
	"time"
)

// Grid is the sizes of an engine.
type Grid struct{ Tensor, Pipeline, PrefillContext int64 }

// Grids are those that are compared, of 2, 8, 32 and 64 ranks.
var Grids = []Grid{{2, 1, 1}, {2, 2, 2}, {8, 2, 2}, {8, 4, 2}}

// World is the number of ranks.
func (g Grid) World() int { return int(g.Tensor * g.Pipeline * g.PrefillContext) }

func (g Grid) String() string { return fmt.Sprintf("%dx%dx%d", g.Tensor, g.Pipeline, g.PrefillContext) }

// Row is one line of the comparison. Times are from the last rank's arrival until the last rank knows the answer.
type Row struct {
	Grid Grid
	// Whole begins with the call of the last rank, so that its facts and its segment are in it; Exchange with the last report
	// sent.
	Whole, Exchange time.Duration
	// Check is the peer's with groups that are there already, Create with groups made first; 0 where there is no peer.
	Check, Create time.Duration
}
