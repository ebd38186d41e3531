package load

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// requirement is what Tiergate must reach at one size: its requests per second over OPA's and over those of a handler
// that only decodes the launch.
type requirement struct{ overOPA, overEcho float64 }

var required = map[int]requirement{8: {3.5, 0.6}, 64: {6, 0.7}, 512: {10, 0.7}}

// maxTail is the most of OPA's 99th percentile that Tiergate's may be.
const maxTail = 1.0 / 5

// Row is what the three servers did at one size.
type Row struct {
	Workers             int
	Tiergate, OPA, Echo Result
}

// Report writes the rows with the required ratios beside what was measured, and tells whether all are met.
func Report(w io.Writer, rows []Row) (met bool, err error) {
	met = true
	state := func(ok bool) string {
		if met = met && ok; ok {
			return "met"
		}
		return "NOT met"
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "workers\tserver\treq/s\tp50 ms\tp99 ms\t")
	for _, r := range rows {
		for _, s := range []struct {
			name string
			Result
		}{{"tiergate", r.Tiergate}, {"opa", r.OPA}, {"echo", r.Echo}} {
			fmt.Fprintf(t, "%d\t%s\t%.0f\t%.2f\t%.2f\t\n", r.Workers, s.name, s.Rate, millis(s.P50), millis(s.P99))
		}
	}
	fmt.Fprintln(t, "\t\t\t\t\t")
	fmt.Fprintln(t, "workers\tof tiergate\tmeasured\trequired\t\t")
	for _, r := range rows {
		need := required[r.Workers]
		opa, echo := r.Tiergate.Rate/r.OPA.Rate, r.Tiergate.Rate/r.Echo.Rate
		tail := float64(r.Tiergate.P99) / float64(r.OPA.P99)
		line := "%d\t%s\t%.2f\t%s %g\t%s\t\n"
		fmt.Fprintf(t, line, r.Workers, "req/s : opa's", opa, ">=", need.overOPA, state(opa >= need.overOPA))
		fmt.Fprintf(t, line, r.Workers, "req/s : echo's", echo, ">=", need.overEcho, state(echo >= need.overEcho))
		fmt.Fprintf(t, line, r.Workers, "p99 : opa's", tail, "<=", maxTail, state(tail <= maxTail))
	}
	if err := t.Flush(); err != nil {
		return false, fmt.Errorf("write table: %w", err)
	}
	return met, nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
