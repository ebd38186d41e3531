package runtime

import (
	"math/rand/v2"
	"time"
)

const (
	// grace is how much longer than the caller allowed a rank waits, so that it is the service that says who was missing.
	grace = 500 * time.Millisecond
	// patience is how much longer than a phase a rank waits that has the time. A service that ends thousands of attempts
	// in one second is late with some, and the ranks of one must not differ in whether they heard how it ended.
	patience = 2 * time.Second
	// longestPoll is what a request waits for an answer. slack is what the answer may then take on its way.
	longestPoll = 30 * time.Second
	slack       = 5 * time.Second
	// firstPoll is short, so that a rank soon knows its attempt and who is missing.
	firstPoll = time.Second
)

// deadline is how long a rank waits. Its times have monotonic readings, so that setting the clock changes nothing.
type deadline struct {
	// own is when the time that the caller gave is over.
	own time.Time
	// phase is when the phase of the attempt is over, as the service last said; zero before it said anything.
	phase time.Time
}

// end is when to stop waiting.
func (d *deadline) end() time.Time {
	end := d.own.Add(grace)
	if !d.phase.IsZero() {
		end = earlier(end, d.phase.Add(patience))
	}
	return end
}

// poll is how long the next request may wait: until the service ends the phase, and so that a service that is well
// answers before the caller's own time is over.
func (d *deadline) poll(now time.Time, longest time.Duration) time.Duration {
	wait := min(longest, d.own.Sub(now))
	if !d.phase.IsZero() {
		wait = min(wait, d.end().Sub(now))
	}
	const unit = time.Millisecond // of the wire; an answer should not come before its time
	return max((wait + unit - 1).Truncate(unit), 0)
}

// heard takes what the service says is left of the phase.
func (d *deadline) heard(now time.Time, remainingMS int64) {
	remaining := min(max(remainingMS, 0), longestDeadline.Milliseconds())
	d.phase = now.Add(time.Duration(remaining) * time.Millisecond)
}

// backoff is exponential, with jitter so that the ranks of an engine do not come back at once. It stays below the two
// seconds after which the service takes a rank for gone.
type backoff struct{ last time.Duration }

const (
	shortestPause = 50 * time.Millisecond
	longestPause  = time.Second
	// longestAsked is how long a rank that has a deadline leaves a service alone that asks for it.
	longestAsked = 5 * time.Second
)

func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, shortestPause), longestPause)
	return b.last/2 + rand.N(b.last/2)
}
