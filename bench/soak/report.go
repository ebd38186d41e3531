//go:build linux

package soak

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/tiergate/tiergate/bench"
)

// What is required.
const (
	// maxTail is the most of its 99th percentile at capacity that the one at twice the capacity may be.
	maxTail = 2.0
	// minRate is the least share of the capacity that is still answered at twice the capacity.
	minRate = 0.25
	// minSeen is the least share of the policy changes that came into force, at twice the capacity.
	minSeen = 0.25

	// What may be left when all is over: connections that are kept, what pools hold, and what the collector has not returned.
	moreGoroutines, moreDescriptors = 10, 5
	moreMemory                      = 1.25
	moreHeap, moreResident          = 8.0, 32.0 // MB
)

// back says what is not yet as it was; empty if everything is.
func (f Figures) back(now Figures) string {
	switch {
	case now.Goroutines > f.Goroutines+moreGoroutines:
		return fmt.Sprintf("%d goroutines", now.Goroutines)
	case now.Descriptors > f.Descriptors+moreDescriptors:
		return fmt.Sprintf("%d descriptors", now.Descriptors)
	case now.Heap > f.Heap*moreMemory+moreHeap:
		return fmt.Sprintf("%.0f MB of heap", now.Heap)
	case now.Resident > f.Resident*moreMemory+moreResident:
		return fmt.Sprintf("%.0f MB resident", now.Resident)
	}
	return ""
}

// report writes requirements.
type report struct {
	*tabwriter.Writer
	met bool
}

func (r *report) line(what, measured, allowed string, met bool) {
	r.met = r.met && met
	fmt.Fprintf(r, "%s\t%s\t%s\t%s\n", map[bool]string{true: "PASS", false: "FAIL"}[met], what, measured, allowed)
}

// Report writes the figures and tells whether all requirements are met.
func (o *Outcome) Report(w io.Writer) (met bool, err error) {
	fmt.Fprintf(w, "%d processors for the service; TLS %s, webhook %s, policy changes %s\n\n", o.Processors, yes(o.Speaking), yes(o.Reviewing), yes(o.Reloading))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "load\toffered/s\taccepted/s\trefused/s\tp50 ms\tp99 ms\trefusal p99 ms\tengines\tadmission p99 ms\tbusy\tstolen")
	for _, r := range o.Rounds {
		r.Capacity.figures(t, fmt.Sprintf("closed, %d connections", o.Connections))
		r.Overload.figures(t, "open, twice as much")
	}
	fmt.Fprintln(t)
	fmt.Fprintln(t, "held\tgoroutines\tdescriptors\theap MB\tresident MB")
	for _, row := range []struct {
		name string
		Figures
	}{{"before", o.Base}, {fmt.Sprintf("%s after", o.Calm), o.After}} {
		fmt.Fprintf(t, "%s\t%d\t%d\t%.1f\t%.0f\n", row.name, row.Goroutines, row.Descriptors, row.Heap, row.Resident)
	}
	if err := t.Flush(); err != nil {
		return false, fmt.Errorf("write table: %w", err)
	}
	fmt.Fprintf(w, "\nmisconduct: %d acts, told %s\n\n", o.Misconduct.Acts, o.Misconduct.statuses())
	r := &report{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), true}
	o.requirements(r)
	return r.met, r.Flush()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (p *Phase) figures(w io.Writer, name string) {
	l := p.Load
	fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%d\t%.1f\t%.0f%%\t%.0f%%\n", name, l.Offered(), l.Rate(),
		float64(len(l.Refused))/l.Duration.Seconds(), ms(percentile(l.Accepted, 50)), ms(percentile(l.Accepted, 99)),
		ms(percentile(l.Refused, 99)), p.Engines.Workers/8, ms(p.Engines.P99), 100*p.Busy, 100*p.Stolen)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (o *Outcome) requirements(r *report) {
	var tails, shares []float64
	changes, seen := 0, 0
	for i, round := range o.Rounds {
		round.Capacity.answers(r, fmt.Sprintf("at capacity, round %d", i+1))
		round.Overload.answers(r, fmt.Sprintf("at twice the capacity, round %d", i+1))
		tails = append(tails, float64(percentile(round.Overload.Load.Accepted, 99))/float64(percentile(round.Capacity.Load.Accepted, 99)))
		shares = append(shares, round.Overload.Load.Rate()/round.Capacity.Load.Rate())
		changes, seen = changes+round.Overload.Changes, seen+round.Overload.Seen
	}
	tail, share := bench.Median(tails), bench.Median(shares)
	r.line("p99 of accepted requests at twice the capacity", fmt.Sprintf("%.2f of that at capacity", tail),
		fmt.Sprintf("at most %g", maxTail), tail <= maxTail)
	r.line("accepted at twice the capacity", fmt.Sprintf("%.2f of the capacity", share), fmt.Sprintf("at least %g", minRate), share >= minRate)
	if o.Reloading {
		r.line("policies in force at twice the capacity", fmt.Sprintf("%d of %d", seen, changes),
			fmt.Sprintf("at least %g of them", minSeen), float64(seen) >= minSeen*float64(changes))
	}
	r.line("misbehaving clients", fmt.Sprintf("%d told of a failure%s", o.Misconduct.Wrong, because(o.Misconduct.First)), "none", o.Misconduct.Wrong == 0)
	left := o.Base.back(o.After)
	r.line("nothing is left", fmt.Sprintf("back in %s%s", o.Calm, because(left)), "goroutines, descriptors, heap, resident as before", left == "")
	first := ""
	if len(o.LoggedErrors) > 0 {
		first = o.LoggedErrors[0]
	}
	r.line("log", fmt.Sprintf("%d errors%s", len(o.LoggedErrors), because(first)), "none", len(o.LoggedErrors) == 0)
	stopped := "in peace"
	if o.Stopped != nil {
		stopped = o.Stopped.Error()
	}
	r.line("end after SIGTERM", stopped, "in peace", o.Stopped == nil)
}

// answers are the requirements of every phase.
func (p *Phase) answers(r *report, when string) {
	for _, l := range []struct {
		name string
		*Tally
	}{{"requests", p.Load}, {"reviews", p.Reviews}} {
		if l.Tally == nil {
			continue
		}
		r.line(fmt.Sprintf("%s %s", l.name, when), fmt.Sprintf("%s wrong %d, lost %d, refused without Retry-After %d%s", l.statuses(), l.Wrong, l.Lost,
			l.Bare, because(l.First)), "none", l.Wrong+l.Lost+l.Bare == 0)
	}
	e := p.Engines
	first := ""
	if e.FirstError != nil {
		first = e.FirstError.Error()
	}
	r.line("workers "+when, fmt.Sprintf("%d answered, wrong %d, lost %d%s", e.Workers, e.Wrong, e.Lost, because(first)), "none", e.Wrong+e.Lost == 0)
}

func because(what string) string {
	if what == "" {
		return ""
	}
	return ": " + what
}
