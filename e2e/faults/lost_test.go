package faults

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tiergate/tiergate/internal/hosttest"
)

// TestAdmissionLostWithItsService: a service that keeps its attempts in its own memory takes an admission with it that one
// rank has heard and another has not. The other then reports to the service that comes after it, where nobody else will,
// and fails with the name of who is missing; it never starts on its own. A cluster would have kept the admission.
func TestAdmissionLostWithItsService(t *testing.T) {
	s := newSite(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*startTime)
	defer cancel()
	answered := steps[5]
	const heard, unheard = 0, 1
	c := s.cell(t, "lost", 2, answered, unheard)
	var tap *hosttest.Wiretap
	s.bring(ctx, t, c, fault{prepare: func(t testing.TB, c *cell) {
		ownService(t, c)
		tap = c.lab.Wiretap(t, c.service.url)
		c.url = tap.URL
	}})
	tap.Delay(c.name, func(rank int64) time.Duration {
		if rank == unheard {
			return time.Hour
		}
		return 0
	})
	c.release()
	c.workers[heard].Wait(ctx, t)
	tap.Delay(c.name, nil) // for the requests to come
	c.service.process.Kill()
	<-c.service.process.Ended()
	c.service.start(t)
	c.workers[unheard].Wait(ctx, t)

	assert.Equal(t, "admitted", c.result(t, heard).Kind)
	assert.True(t, c.allocated(heard))
	r := c.result(t, unheard)
	assert.Equal(t, "timed_out", r.Kind, r.Error)
	assert.Contains(t, r.Error, "no report from rank 0 of 2")
	assert.False(t, c.allocated(unheard))
	assert.LessOrEqual(t, r.Returned-r.Called, (deadline + beyond).Nanoseconds())
	assert.Empty(t, s.gpu.Segments(t))
}
