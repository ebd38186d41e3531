//go:build linux

package soak

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// answerWithin is how long a request waits for its answer before it counts as lost.
const answerWithin = 20 * time.Second

// Load is requests of a corpus to some addresses, in turns.
type Load struct {
	Targets []Target
	Corpus  []Case
	Seed    uint64
}

// requests are those of the corpus, in order.
func (l *Load) requests() []request {
	list := make([]request, len(l.Corpus))
	for i := range l.Corpus {
		list[i] = newRequest(&l.Corpus[i])
	}
	return list
}

// picker chooses cases by their shares.
func (l *Load) picker(seed uint64) func() int {
	rng := rand.New(rand.NewPCG(l.Seed, seed))
	var cards []int
	for i, c := range l.Corpus {
		for range c.Share {
			cards = append(cards, i)
		}
	}
	return func() int { return cards[rng.IntN(len(cards))] }
}

// Closed keeps so many connections busy for the time: each sends its next request when it has read the last answer.
func (l *Load) Closed(ctx context.Context, connections int, duration time.Duration) *Tally {
	book, requests := newLedger(), l.requests()
	end := time.Now().Add(duration)
	var running sync.WaitGroup
	for i := range connections {
		running.Go(func() {
			pick := l.picker(uint64(i))
			c := client{load: l, requests: requests, target: l.Targets[i%len(l.Targets)], book: book}
			defer c.close()
			for due := time.Now(); due.Before(end) && ctx.Err() == nil; due = time.Now() {
				c.send(ctx, pick(), due)
			}
		})
	}
	running.Wait()
	return book.close(duration)
}

// Open sends requests at a rate whether or not earlier ones were answered, as many clients do that know nothing of each other.
// The rate may change. Latency counts from when a request was due, also while all connections wait for answers; that this
// program had no processor is not the service's doing and not counted.
func (l *Load) Open(ctx context.Context, connections int, rate func() float64, duration time.Duration) *Tally {
	book, requests := newLedger(), l.requests()
	due := make(chan time.Time)
	var running sync.WaitGroup
	for i := range connections {
		running.Go(func() {
			pick := l.picker(uint64(i))
			c := client{load: l, requests: requests, target: l.Targets[i%len(l.Targets)], book: book}
			defer c.close()
			for t := range due {
				c.send(ctx, pick(), t)
			}
		})
	}
	l.pace(ctx, due, rate, duration)
	close(due)
	running.Wait()
	return book.close(duration)
}

// mostBehind is how far behind its plan this program catches up; requests that are due longer are left out, since all at once
// they would be another load than the one that was planned.
const mostBehind = 20 * time.Millisecond

// pace makes requests due at random times, as independent clients would.
func (l *Load) pace(ctx context.Context, due chan<- time.Time, rate func() float64, duration time.Duration) {
	rng := rand.New(rand.NewPCG(l.Seed, 1<<32))
	next := time.Now()
	for end := next.Add(duration); next.Before(end) && ctx.Err() == nil; {
		next = next.Add(time.Duration(rng.ExpFloat64() / rate() * float64(time.Second)))
		if wait := time.Until(next); wait > 0 {
			time.Sleep(wait)
		}
		now := time.Now()
		if now.Sub(next) > mostBehind {
			next = now
		}
		due <- now
	}
}

// steady is a rate that does not change.
func steady(rate float64) func() float64 { return func() float64 { return rate } }

// client is one connection that is made again when it broke.
type client struct {
	load     *Load
	requests []request
	target   Target
	book     *ledger
	conn     *connection
	answer   answer
}

func (c *client) send(ctx context.Context, which int, due time.Time) {
	var err error
	if c.conn == nil {
		if c.conn, err = connect(ctx, c.target); err != nil {
			c.note(ctx, which, due, err)
			return
		}
	}
	err = c.conn.exchange(c.requests[which], &c.answer, answerWithin)
	c.note(ctx, which, due, err)
	if err != nil || c.answer.last {
		c.close()
	}
}

// note counts what came, unless it failed because the whole run ended.
func (c *client) note(ctx context.Context, which int, due time.Time, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	c.book.note(&c.load.Corpus[which], &c.answer, time.Since(due), err)
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}
