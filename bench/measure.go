package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Contender turns the JSON text of a launch into the JSON text of a verdict.
type Contender struct {
	Name   string
	Decide func(ctx context.Context, launch []byte) ([]byte, error)
}

// Effort says how long to measure.
type Effort struct {
	// Rounds is how often each contender has its turn; its result is the median turn.
	Rounds int
	// Turn is about how long a turn takes; at least one decision is made.
	Turn time.Duration
}

// Measure gives the time of one decision of each contender, in their order. They take turns, so that a machine that
// slows down slows all of them, and each turn starts with a collected heap, so that nobody pays for another's
// garbage. Contenders must agree on the outcome.
func Measure(ctx context.Context, contenders []Contender, launch []byte, effort Effort) ([]time.Duration, error) {
	if err := agree(ctx, contenders, launch); err != nil {
		return nil, err
	}
	batches := make([]int, len(contenders))
	turns := make([][]time.Duration, len(contenders))
	for round := range effort.Rounds + 1 {
		for i, c := range contenders {
			took, err := turn(ctx, c, launch, max(1, batches[i]))
			if err != nil {
				return nil, err
			}
			if round == 0 { // The first turn, of one decision, finds out how many fill a turn.
				batches[i] = int(effort.Turn / max(took, 1))
				continue
			}
			turns[i] = append(turns[i], took)
		}
	}
	medians := make([]time.Duration, len(contenders))
	for i := range turns {
		medians[i] = Median(turns[i])
	}
	return medians, nil
}

// turn is the mean time of some decisions in a row.
func turn(ctx context.Context, c Contender, launch []byte, decisions int) (time.Duration, error) {
	runtime.GC()
	start := time.Now()
	for range decisions {
		if _, err := c.Decide(ctx, launch); err != nil {
			return 0, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return time.Since(start) / time.Duration(decisions), nil
}

func agree(ctx context.Context, contenders []Contender, launch []byte) error {
	var first string
	for i, c := range contenders {
		text, err := c.Decide(ctx, launch)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		var verdict struct {
			Outcome string `json:"outcome"`
		}
		if err := json.Unmarshal(text, &verdict); err != nil {
			return fmt.Errorf("%s: read verdict: %w", c.Name, err)
		}
		if i == 0 {
			first = verdict.Outcome
		}
		if verdict.Outcome != first {
			return fmt.Errorf("%s answers %q where %s answers %q: both must be right before they are compared",
				c.Name, verdict.Outcome, contenders[0].Name, first)
		}
	}
	return nil
}

// Median sorts values and gives the middle one, the lower of two; of none it is zero.
func Median[T int | float64 | time.Duration](values []T) T {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}
