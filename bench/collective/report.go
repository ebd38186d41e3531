package collective

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Tiergate must be so many times faster than the peer at 8 ranks, which have three groups each.
const (
	required      = 5
	requiredRanks = 8
)

// Report writes the rows with the required ratios beside what was measured, and tells whether all are met. Without a peer
// nothing is, or is not. What is required is of the check itself: verdict, probes and admission. The times with facts and
// segments are there because the peer makes its segment within its time, too.
func Report(w io.Writer, rows []Row) (met bool, err error) {
	met = true
	fmt.Fprintln(w, "The check at KV registration, milliseconds until the last rank knows the answer: of tiergate since the last report was")
	fmt.Fprintln(w, "sent, and since the last rank began with its facts; of the peer since the last rank arrived")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "ranks\tTPxPPxPCP\ttiergate\twith facts\tgloo\tratio\twith facts\tgloo, groups made\tratio\trequired\tstate\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%d\t%s\t%.2f\t%.2f\t", r.Grid.World(), r.Grid, millis(r.Exchange), millis(r.Whole))
		if r.Check == 0 {
			fmt.Fprintln(t, "-\t-\t-\t-\t-\t-\t-\t")
			continue
		}
		check, create := float64(r.Check)/float64(r.Exchange), float64(r.Create)/float64(r.Exchange)
		fmt.Fprintf(t, "%.2f\t%.1fx\t%.1fx\t%.1f\t%.0fx\t", millis(r.Check), check, float64(r.Check)/float64(r.Whole), millis(r.Create), create)
		if r.Grid.World() != requiredRanks {
			fmt.Fprintln(t, "-\t-\t")
			continue
		}
		state := "met"
		if check < required || create < required {
			met, state = false, "NOT met"
		}
		fmt.Fprintf(t, "both >= %dx\t%s\t\n", required, state)
	}
	if err := t.Flush(); err != nil {
		return false, fmt.Errorf("write table: %w", err)
	}
	return met, nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
