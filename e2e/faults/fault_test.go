package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/e2e/worker"
	"github.com/tiergate/tiergate/internal/hosttest"
)

// fault is something that goes wrong, with what must become of the victim and of the others at each step.
type fault struct {
	// prepare changes a cell before its engine starts; nil means nothing.
	prepare func(t testing.TB, c *cell)
	// harm is called when the step is reached, afterwards when the others have ended and before the victim must have; nil
	// means nothing.
	harm, afterwards func(ctx context.Context, t testing.TB, c *cell)
	others, victim   [len(steps)]fate
}

// fate is how the registration of a rank ends.
type fate string

const (
	admitted fate = "admitted"
	// unreported and unanswered: timed out, because the victim did not report, or did not answer the probe.
	unreported fate = "timed out without the victim's report"
	unanswered fate = "timed out without the victim's answers"
	// lost: the service is.
	lost fate = "service lost"
	// late: an error of its own, after its time was over.
	late fate = "late"
	// missed: timed out without the victim, or admitted with what it had said, as all others.
	missed fate = "timed out without the victim, or admitted with it"
	// dead does not return.
	dead fate = "dead"
	// rejected: for what the victim could not do.
	rejected fate = "rejected"
)

func always(f fate) (all [len(steps)]fate) {
	for i := range all {
		all[i] = f
	}
	return all
}

// without is what the others come to if the victim does nothing any more: what it said before still counts.
var without = [...]fate{unreported, unreported, unanswered, unanswered, unanswered, admitted, admitted}

// cutOff is what a rank comes to that hears nothing any more.
var cutOff = [...]fate{lost, lost, lost, lost, lost, lost, admitted}

// moment is shorter than what a connection survives without that either side asks why.
const moment = time.Second

// remote are the faults of processes and networks. That a rank or a service is gone is noticed in three ways: connections
// break (killed), nobody answers (stopped, cut), or answers do not come although the connection is well (silent).
var remote = map[string]fault{
	// On a host of its own, because any rank that starts removes the segments of the dead.
	"rank killed": {
		prepare:    ownHost,
		harm:       kill,
		afterwards: verifySwept,
		others:     without, victim: always(dead),
	},
	"rank stopped": {
		harm: stop,
		afterwards: func(_ context.Context, _ testing.TB, c *cell) {
			time.Sleep(time.Until(c.harmed.Add(deadline))) // which began before
			c.workers[c.victim].Cont()
		},
		others: without, victim: always(late),
	},
	"rank cut off": {
		prepare: func(t testing.TB, c *cell) {
			c.hosts[c.victim] = c.gpu.NetworkedContainer(t, "gpu")
		},
		harm:   func(_ context.Context, t testing.TB, c *cell) { c.hosts[c.victim].Cut(t) },
		others: without, victim: cutOff,
	},
	"rank cut off for a moment": {
		prepare: func(t testing.TB, c *cell) {
			c.hosts[c.victim] = c.gpu.NetworkedContainer(t, "gpu")
		},
		harm:   func(_ context.Context, t testing.TB, c *cell) { cutForAMoment(t, c.hosts[c.victim]) },
		others: always(admitted), victim: always(admitted),
	},
	// All state of a service without a cluster is gone with it; the ranks make a new attempt by themselves.
	"service killed and restarted": {
		prepare: ownService,
		harm: func(ctx context.Context, t testing.TB, c *cell) {
			c.service.process.Kill()
			<-c.service.process.Ended()
			c.release() // so that ranks also come while nobody listens
			c.service.start(t)
		},
		others: always(admitted), victim: always(admitted),
	},
	"service partitioned": {
		prepare:    ownService,
		harm:       func(_ context.Context, t testing.TB, c *cell) { c.service.host.Cut(t) },
		afterwards: func(_ context.Context, t testing.TB, c *cell) { c.service.host.Heal(t) },
		others:     cutOff, victim: cutOff,
	},
	"service partitioned for a moment": {
		prepare: ownService,
		harm:    func(_ context.Context, t testing.TB, c *cell) { cutForAMoment(t, c.service.host) },
		others:  always(admitted), victim: always(admitted),
	},
	"slow service": {
		prepare: throughWiretap,
		harm: func(_ context.Context, _ testing.TB, c *cell) {
			c.tap.Delay(c.name, func(int64) time.Duration { return moment })
		},
		others: always(admitted), victim: always(admitted),
	},
	// What the victim sends arrives.
	"service silent to the rank": {
		prepare: throughWiretap,
		harm: func(_ context.Context, _ testing.TB, c *cell) {
			c.tap.Delay(c.name, func(rank int64) time.Duration {
				if rank == int64(c.victim) {
					return time.Hour
				}
				return 0
			})
		},
		others: [...]fate{unanswered, unanswered, unanswered, admitted, admitted, admitted, admitted}, victim: cutOff,
	},
}

func kill(_ context.Context, _ testing.TB, c *cell) {
	c.workers[c.victim].Kill()
	<-c.workers[c.victim].Ended()
}

// stop waits until all threads of the victim stand still: the signal alone takes some time.
func stop(ctx context.Context, t testing.TB, c *cell) {
	t.Helper()
	c.workers[c.victim].Stop()
	await(ctx, t, func() (bool, any) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", c.workers[c.victim].PID()))
		require.NoError(t, err)
		for _, thread := range threads {
			text, err := os.ReadFile(thread)
			_, state, _ := strings.Cut(string(text), ") ")
			if err != nil || !strings.HasPrefix(state, "T") {
				return false, string(text)
			}
		}
		return len(threads) > 0, threads
	})
}

func ownHost(t testing.TB, c *cell) {
	t.Helper()
	setHost(c, c.lab.Host(t, "gpu", hosttest.Shm{}))
}

func setHost(c *cell, h *hosttest.Host) {
	for rank := range c.hosts {
		c.hosts[rank] = h
	}
}

// verifySwept starts another engine on the host, which removes what a killed rank left there.
func verifySwept(ctx context.Context, t testing.TB, c *cell) {
	t.Helper()
	next := c.site.cell(t, c.name+"-next", 2, steps[0], 0)
	next.hosts, next.faults = c.hosts, make([][]worker.Fault, 2)
	next.start(t)
	for rank, p := range next.workers {
		assert.Zero(t, p.Wait(ctx, t), "rank %d", rank)
		assert.True(t, next.allocated(rank), "rank %d: %s", rank, p.Stderr.String())
	}
	assert.Empty(t, c.hosts[0].Segments(t), "what the killed rank left")
}

func ownService(t testing.TB, c *cell) {
	t.Helper()
	c.service = c.serve(t, c.binary, os.Environ())
	c.url = c.service.url
}

func throughWiretap(_ testing.TB, c *cell) { c.url = c.tap.URL }

// cutForAMoment heals the cut while the ranks go on.
func cutForAMoment(t testing.TB, h *hosttest.Host) {
	t.Helper()
	h.Cut(t)
	healed := make(chan struct{})
	go func() {
		defer close(healed)
		time.Sleep(moment)
		h.Heal(t)
	}()
	t.Cleanup(func() { <-healed })
}
