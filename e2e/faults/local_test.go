package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tiergate/tiergate/e2e/worker"
	"github.com/tiergate/tiergate/internal/hosttest"
)

// local is a fault of what a rank needs on its own host. A rank does something there at three steps only: a leader makes
// its segment after the facts were collected, every rank opens segments after the verdict, and the next one after each. What
// happens while it waits for an answer is as if it happened right before the next of these, and is not repeated here, but
// for file descriptors, which the network needs too.
type local struct {
	prepare func(t testing.TB, c *cell)
	harm    func(t testing.TB, c *cell)
	// itself are faults that the victim does to itself at its step.
	itself []string
	// steps are those at which it can happen, with what becomes of all then. Where a leader must be able to do something,
	// the leader of all is the victim, else the last rank, which leads nothing.
	steps map[string]localFate
}

type localFate struct {
	leader         bool
	others, victim fate
	// says is what all are told where they are rejected.
	says string
}

func refused(leader bool, says string) localFate { return localFate{leader, rejected, rejected, says} }

func harmless(leader bool) localFate { return localFate{leader, admitted, admitted, ""} }

const collected, ready, judged, opened, sent, received = "facts collected", "segment ready", "verdict received",
	"segment opened", "answers sent", "admission received"

var locals = map[string]local{
	// Only making a segment takes space.
	"full": {
		prepare: ownHost,
		harm:    func(t testing.TB, c *cell) { c.hosts[c.victim].Fill(t) },
		steps: map[string]localFate{
			collected: refused(true, "ENOSPC"), ready: harmless(true), judged: harmless(false), opened: harmless(false),
			received: harmless(false),
		},
	},
	"out of inodes": {
		prepare: func(t testing.TB, c *cell) { setHost(c, c.lab.Host(t, "gpu", hosttest.Shm{Inodes: 32})) },
		harm:    func(t testing.TB, c *cell) { c.hosts[c.victim].FillInodes(t) },
		steps: map[string]localFate{
			collected: refused(true, "ENOSPC"), ready: harmless(true), judged: harmless(false), opened: harmless(false),
			received: harmless(false),
		},
	},
	// The kernel makes nothing read-only where a leader has its segment open.
	"read-only": {
		prepare: func(t testing.TB, c *cell) { c.hosts[c.victim] = c.gpu.NetworkedContainer(t, "gpu") },
		harm:    func(t testing.TB, c *cell) { c.hosts[c.victim].MakeReadOnly(t) },
		steps: map[string]localFate{
			collected: refused(true, "EROFS"), judged: refused(false, "EROFS"), opened: refused(false, "EROFS"),
			received: harmless(false),
		},
	},
	"no file descriptors": {
		prepare: filesAfter("callback starts"), // which needs some itself
		itself:  []string{worker.NoFiles},
		steps: map[string]localFate{
			// There is no connection yet, and none can be made.
			collected: {true, unreported, lost, ""}, ready: {true, unreported, lost, ""},
			judged: refused(false, "EMFILE"), opened: refused(false, "EMFILE"),
			sent: harmless(false), received: harmless(false),
		},
	},
	"no file descriptors for a moment": {
		prepare: filesAfter("segment failed"),
		itself:  []string{worker.NoFiles},
		steps:   map[string]localFate{collected: refused(true, "EMFILE")},
	},
	// A process has one user for life; here the victim's is another than that of all others. A leader's segment is then
	// closed to them, and theirs to any other rank.
	"wrong uid of a leader": {prepare: otherUser, steps: map[string]localFate{collected: refused(true, "shared but not permitted")}},
	"wrong uid":             {prepare: otherUser, steps: map[string]localFate{collected: refused(false, "shared but not permitted")}},
}

func filesAfter(message string) func(testing.TB, *cell) {
	return func(_ testing.TB, c *cell) {
		c.faults[c.victim] = append(c.faults[c.victim], worker.Fault{After: message, Do: worker.Files})
	}
}

func otherUser(_ testing.TB, c *cell) {
	for rank := range c.users {
		c.users[rank] = 2000
	}
	c.users[c.victim] = 2001
}

// TestLocal is every local fault. Nobody waits for anything in these cells but where the victim cannot speak.
func TestLocal(t *testing.T) {
	s := newSite(t)
	t.Run("cells", func(t *testing.T) {
		for name, l := range locals {
			for world := range worlds {
				for _, at := range steps {
					if fate, happens := l.steps[at.message]; happens {
						t.Run(fmt.Sprintf("%s/%s/%d", name, at.message, world), func(t *testing.T) {
							t.Parallel()
							s.runLocal(t, world, at, l, fate)
						})
					}
				}
			}
		}
	})
	assert.Empty(t, s.gpu.Segments(t), "nothing is left")
}

func (s *site) runLocal(t *testing.T, world int, at step, l local, fate localFate) {
	if at.message == opened && world == 2 && fate.others == rejected {
		fate = harmless(false) // it was the only one
	}
	victim := world - 1
	if fate.leader {
		victim = 0
	}
	c := s.cell(t, engineName(t), world, at, victim)
	for _, do := range l.itself {
		c.faults[victim] = append(c.faults[victim], worker.Fault{After: at.message, Do: do})
	}
	harm := func(context.Context, testing.TB, *cell) {}
	if l.harm != nil {
		harm = func(_ context.Context, t testing.TB, c *cell) { l.harm(t, c) }
	}
	var ended time.Time
	s.run(t, c, fault{
		prepare: l.prepare, harm: harm, others: always(fate.others), victim: always(fate.victim),
		afterwards: func(context.Context, testing.TB, *cell) { ended = time.Now() },
	}, 0, fate.says)
	if fate.others == rejected {
		assert.Less(t, ended.Sub(c.harmed), deadline/2, "it must not take any phase's time to be rejected")
	}
}
