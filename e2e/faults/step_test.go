package faults

import (
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// step is a moment in a rank's protocol. Something is held there until the fault has happened: the rank itself, or where
// the rank waits for an answer, another rank without which there is none.
type step struct {
	// message is what the runtime logs then.
	message string
	// holds is where another rank is held; if empty, the rank itself is.
	holds string
	// phase is that of the attempt meanwhile.
	phase string
}

// steps are all of them in their order. Fates below are lists by step.
var steps = [...]step{
	{message: "facts collected", phase: v1.PhaseReport},
	{message: "segment ready", phase: v1.PhaseReport},
	{message: "report sent", holds: "facts collected", phase: v1.PhaseReport},
	{message: "verdict received", phase: v1.PhaseProbe},
	{message: "segment opened", phase: v1.PhaseProbe},
	{message: "answers sent", holds: "verdict received", phase: v1.PhaseProbe},
	{message: "admission received", phase: v1.PhaseEnded},
}

// reached tells whether everybody has come as far as they can while one rank is held.
func (s step) reached(a *v1.AttemptView, held int64) bool {
	switch {
	case a == nil:
		return false
	case s.phase == v1.PhaseReport:
		return a.Phase == s.phase && slices.Equal(a.Missing, []int64{held})
	case s.phase == v1.PhaseProbe:
		return a.Phase == s.phase && slices.Equal(a.Unanswered, []int64{held})
	}
	return a.Phase == s.phase
}

// worlds are engines of tensor, pipeline and prefill-context ranks, by their size.
var worlds = map[int][3]int64{2: {2, 1, 1}, 4: {2, 2, 1}, 8: {2, 2, 2}}

// victim is the rank that a fault happens to: over the sizes, one that leads nothing, one that leads all its groups, and
// one that leads one of three. Only leaders make a segment.
func (s step) victim(world int) int {
	if s.message == "segment ready" {
		return 0
	}
	return map[int]int{2: 1, 4: 0, 8: 6}[world]
}
