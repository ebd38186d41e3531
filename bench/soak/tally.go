//go:build linux

package soak

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Tally is what came of a load.
type Tally struct {
	// Duration is how long requests were sent.
	Duration time.Duration
	// Accepted took so long each, from when they were due, in order; Refused were told to come back later.
	Accepted, Refused []time.Duration
	// Wrong are answers that should have been others, Lost requests without an answer, Bare refusals without Retry-After.
	Wrong, Lost, Bare int
	Statuses          map[int]int
	// First is what was first wrong or lost.
	First string
}

// Rate is how many requests were accepted per second.
func (t *Tally) Rate() float64 { return float64(len(t.Accepted)) / t.Duration.Seconds() }

// Offered is how many requests came per second.
func (t *Tally) Offered() float64 {
	return float64(len(t.Accepted)+len(t.Refused)+t.Wrong+t.Lost) / t.Duration.Seconds()
}

// percentile is the smallest value that at least p percent of the sorted values do not exceed.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, min(len(sorted)-1, int(float64(len(sorted))*p/100+0.999999)-1))]
}

// ledger counts what many connections see.
type ledger struct {
	mu    sync.Mutex
	tally Tally
	seen  int
}

func newLedger() *ledger { return &ledger{tally: Tally{Statuses: map[int]int{}}} }

// thoroughly is how many answers there are for each verdict that is read whole.
const thoroughly = 32

// note counts an answer or what was there instead of one. It took so long from when it was due.
func (l *ledger) note(c *Case, a *answer, took time.Duration, err error) {
	l.mu.Lock()
	l.seen++
	thorough := l.seen%thoroughly == 0
	l.mu.Unlock()
	wrong := ""
	if err == nil && a.status != http.StatusServiceUnavailable {
		wrong = c.wrong(a, thorough)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.tally
	if err != nil {
		t.Lost++
		t.remember(fmt.Sprintf("%s: %v", c.Name, err))
		return
	}
	t.Statuses[a.status]++
	switch {
	case a.status == http.StatusServiceUnavailable:
		t.Refused = append(t.Refused, took)
		if !a.retryAfter {
			t.Bare++
			t.remember(fmt.Sprintf("%s: 503 without Retry-After: %.300s", c.Name, a.body))
		}
	case wrong != "":
		t.Wrong++
		t.remember(wrong)
	default:
		t.Accepted = append(t.Accepted, took)
	}
}

func (t *Tally) remember(what string) {
	if t.First == "" {
		t.First = what
	}
}

// close returns the tally, in order.
func (l *ledger) close(duration time.Duration) *Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.tally.Accepted)
	slices.Sort(l.tally.Refused)
	l.tally.Duration = duration
	return &l.tally
}

// statuses are the counts by status, for people.
func (t *Tally) statuses() string {
	text := ""
	for _, status := range slices.Sorted(maps.Keys(t.Statuses)) {
		text += fmt.Sprintf("%d: %d  ", status, t.Statuses[status])
	}
	return text
}
