package api

import (
	"runtime"
	"time"
)

const (
	// patience is how long a crowd may last before anybody is turned away: a burst, as of a job that starts all its launchers
	// at once, is gone by then.
	patience = 100 * time.Millisecond
	// anyway is how many requests there are in a crowd for each one that is let in all the same. Reading a request and turning
	// it away takes a good part of what a small decision takes; without these, a flood would leave time for nothing else.
	anyway = 8
	// memory is how long ago the last crowd is for the next one to be another.
	memory = time.Second
)

// crowd tells whether requests come faster than they are decided. While more come than can be decided, each that is let in
// makes all others wait longer and none is answered sooner; so what comes on top is told to come back, at once.
type crowd struct {
	most, ready int
	// turned counts those that came while a crowd lasted.
	turned int
	// since is when the crowd began, last when it was last seen.
	since, last time.Time
}

// newCrowd lets so many be ready in a crowd as have a turn at once when all are small: then nobody waits for one.
func newCrowd() crowd { return crowd{most: 2 * turnsPerProcessor * runtime.GOMAXPROCS(0)} }

// lasts tells whether there is a crowd, and has been for longer than a burst takes.
func (c *crowd) lasts() bool {
	if c.ready < c.most {
		return false
	}
	now := time.Now()
	if now.Sub(c.last) > memory {
		c.since = now
	}
	c.last = now
	return now.Sub(c.since) > patience
}

// excepts tells whether a request that comes while the crowd lasts is let in all the same.
func (c *crowd) excepts() bool {
	c.turned++
	return c.turned%anyway == 0
}
