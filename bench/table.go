package bench

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// required is by how much Tiergate must be faster than OPA's interpreter, by the number of workers. It must be faster
// than OPA's WebAssembly target everywhere.
var required = map[int]float64{8: 4, 64: 6, 512: 8, 4096: 8}

// maxGrowth is how much more than linearly the cost may grow from 64 to 4096 workers.
const maxGrowth = 1.2

// Row is one line of the comparison: the time of a decision of each contender.
type Row struct {
	Workers                    int
	Variant                    Variant
	Ours, Interpreter, OPAWasm time.Duration
}

// Compare measures all sizes and both placements. Contenders are Tiergate, the interpreter and OPA's WebAssembly, in
// this order.
func Compare(ctx context.Context, contenders [3]Contender, effort Effort) ([]Row, error) {
	var rows []Row
	for _, variant := range []Variant{OK, Bad} {
		for _, workers := range Sizes {
			times, err := Measure(ctx, contenders[:], Document(workers, variant), effort)
			if err != nil {
				return nil, fmt.Errorf("%d workers, %s: %w", workers, variant, err)
			}
			rows = append(rows, Row{workers, variant, times[0], times[1], times[2]})
		}
	}
	return rows, nil
}

// Report writes the rows with the required ratios beside what was measured, and tells whether all are met.
func Report(w io.Writer, rows []Row) (met bool, err error) {
	met = true
	state := func(ok bool) string {
		met = met && ok
		return verdictWord(ok)
	}
	fmt.Fprintln(w, "Launch JSON in, verdict JSON out: microseconds per decision, and how many times faster tiergate is")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "launch\tworkers\ttiergate\tinterpreter\topa wasm\tinterpreter:ours\trequired\tstate\t"+
		"opa wasm:ours\trequired\tstate\t")
	for _, r := range rows {
		interpreter, wasm := ratio(r.Interpreter, r.Ours), ratio(r.OPAWasm, r.Ours)
		fmt.Fprintf(t, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.2fx\t%gx\t%s\t%.2fx\t>1x\t%s\t\n",
			r.Variant, r.Workers, micros(r.Ours), micros(r.Interpreter), micros(r.OPAWasm),
			interpreter, required[r.Workers], state(interpreter >= required[r.Workers]), wasm, state(wasm > 1))
	}
	if err := t.Flush(); err != nil {
		return false, fmt.Errorf("write table: %w", err)
	}
	for _, variant := range []Variant{OK, Bad} {
		growth := Growth(rows, variant)
		fmt.Fprintf(w, "growth of tiergate from 64 to 4096 workers, %s: %.2f of linear, required <= %.2f: %s\n",
			variant, growth, maxGrowth, state(growth > 0 && growth <= maxGrowth))
	}
	return met, nil
}

func verdictWord(met bool) string {
	if met {
		return "met"
	}
	return "NOT met"
}

// Growth is the cost of Tiergate at 4096 workers over 64 times its cost at 64; zero where a row is absent.
func Growth(rows []Row, variant Variant) float64 {
	at := make(map[int]time.Duration)
	for _, r := range rows {
		if r.Variant == variant {
			at[r.Workers] = r.Ours
		}
	}
	if at[64] == 0 {
		return 0
	}
	return float64(at[4096]) / float64(at[64]) / (4096 / 64)
}

func ratio(theirs, ours time.Duration) float64 { return float64(theirs) / float64(max(ours, 1)) }

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
