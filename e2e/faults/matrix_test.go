package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMatrix is every remote fault at every step for every size.
func TestMatrix(t *testing.T) {
	s := newSite(t)
	t.Run("cells", func(t *testing.T) {
		for name, f := range remote {
			for world := range worlds {
				for i, at := range steps {
					t.Run(fmt.Sprintf("%s/%s/%d", name, at.message, world), func(t *testing.T) {
						t.Parallel()
						c := s.cell(t, engineName(t), world, at, at.victim(world))
						s.run(t, c, f, i, "")
					})
				}
			}
		}
	})
	assert.Empty(t, s.gpu.Segments(t), "nothing is left")
}

// engineName is that of the test, as far as an engine can have it.
func engineName(t testing.TB) string {
	return strings.NewReplacer("/", "-", "_", "-", ",", "").Replace(t.Name())
}

// run starts an engine, has the fault happen when its step is reached, and verifies what everybody came to.
func (s *site) run(t *testing.T, c *cell, f fault, at int, reason string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*startTime)
	defer cancel()
	s.bring(ctx, t, c, f)
	c.harmed = time.Now()
	if f.harm != nil {
		f.harm(ctx, t, c)
	}
	c.release()
	for rank := range c.others() {
		c.workers[rank].Wait(ctx, t)
	}
	if f.afterwards != nil {
		f.afterwards(ctx, t, c)
	}
	c.workers[c.victim].Wait(ctx, t)
	c.verify(ctx, t, f.others[at], f.victim[at], reason)
}

// bring starts an engine and waits until it has come to its step. It takes a place among those that start meanwhile.
func (s *site) bring(ctx context.Context, t *testing.T, c *cell, f fault) {
	select {
	case s.starting <- struct{}{}:
		defer func() { <-s.starting }()
	case <-ctx.Done():
		require.FailNow(t, "no place to start")
	}
	if f.prepare != nil {
		f.prepare(t, c)
	}
	c.start(t)
	c.reach(ctx, t)
}
