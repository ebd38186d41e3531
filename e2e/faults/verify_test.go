package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/e2e/worker"
)

// beyond is what a rank may take after its deadline.
const beyond = time.Second

// verify checks what every rank of an engine that has ended came to.
func (c *cell) verify(ctx context.Context, t *testing.T, others, victim fate, reason string) {
	t.Helper()
	answers := map[string]bool{}
	anyAllocated := false
	for rank := range c.workers {
		fate := others
		if rank == c.victim {
			fate = victim
		}
		if fate == dead {
			assert.False(t, c.allocated(rank), "a dead rank allocated")
			continue
		}
		r := c.result(t, rank)
		c.verifyFate(t, fate, r, reason)
		assert.Equal(t, r.Kind == "admitted", c.allocated(rank), "rank %d is %s", rank, r.Kind)
		anyAllocated = anyAllocated || c.allocated(rank)
		if fate != late {
			assert.LessOrEqual(t, time.Duration(r.Returned-r.Called), deadline+beyond, "rank %d: %s", rank, r.Error)
		}
		if fate != late && fate != lost {
			answers[r.Kind+": "+r.Error] = true
		}
		c.verifyNoSegment(t, rank)
	}
	assert.LessOrEqual(t, len(answers), 1, "the ranks that reach the service got different answers: %v", answers)
	if anyAllocated {
		c.verifyAdmitted(ctx, t)
	}
	if t.Failed() {
		for rank, p := range c.workers {
			t.Logf("log of rank %d:\n%s%s", rank, p.Stderr.String(), p.Stdout.String())
		}
	}
}

// verifyAdmitted asks the service, which remembers at least what happened after it started.
func (c *cell) verifyAdmitted(ctx context.Context, t *testing.T) {
	t.Helper()
	a := c.before
	if a.Phase != v1.PhaseEnded {
		a = c.service.attempt(ctx, c.name)
	}
	if assert.NotNil(t, a) && assert.NotNil(t, a.Admission, "ranks allocated in an attempt that was not admitted: %+v", a) {
		assert.Equal(t, v1.Allow, a.Admission.Outcome)
	}
}

// result is what a rank that returned says.
func (c *cell) result(t *testing.T, rank int) (r worker.Result) {
	t.Helper()
	p := c.workers[rank]
	require.NoError(t, json.Unmarshal([]byte(p.Stdout.String()), &r), "rank %d: %s", rank, p.Stderr.String())
	return r
}

// verifyFate compares how a registration ended with how it must, and wants the victim named.
func (c *cell) verifyFate(t *testing.T, want fate, r worker.Result, reason string) {
	t.Helper()
	kind, says := "", ""
	switch want {
	case admitted:
		kind = "admitted"
	case unreported:
		kind, says = "timed_out", fmt.Sprintf("no report from rank %d of %d", c.victim, c.world)
	case unanswered:
		kind, says = "timed_out", fmt.Sprintf("rank %d reported but did not answer the probe", c.victim)
	case lost:
		kind, says = "service_lost", "gave no answer for"
	case rejected:
		kind, says = "rejected", reason
		assert.Contains(t, r.Error, fmt.Sprintf("rank %d", c.victim))
	case missed:
		if kind = r.Kind; kind != "admitted" {
			kind, says = "timed_out", fmt.Sprintf("rank %d", c.victim)
		}
	case late:
		assert.NotEqual(t, "admitted", r.Kind, "rank %d was late", r.Rank)
		return
	}
	assert.Equal(t, kind, r.Kind, "rank %d: %s", r.Rank, r.Error)
	assert.Contains(t, r.Error, says, "what rank %d says", r.Rank)
}

// verifyNoSegment looks for the segment that a rank said it made.
func (c *cell) verifyNoSegment(t *testing.T, rank int) {
	t.Helper()
	for line := range strings.Lines(c.workers[rank].Stderr.String()) {
		var logged struct{ Msg, Name string }
		if json.Unmarshal([]byte(line), &logged) != nil || logged.Msg != "segment ready" {
			continue
		}
		assert.False(t, slices.Contains(c.hosts[rank].Segments(t), logged.Name), "rank %d left %s", rank, logged.Name)
	}
}
