package e2e

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/hosttest"
)

// placements are engines by what must become of them. Grids are tensor, pipeline, prefill context; letters are places of
// newSite, a rank each.
var placements = map[string]struct {
	engine
	rejected bool
	// unprobed: admitted without looking at anything.
	unprobed bool
	// code of a rejection where it is not node_local's.
	code string
}{
	// The five cases of vLLM's own unit test (vllm 62930).
	"tensor spans":          {engine: engine{grid: grid{2, 1, 1}, placement: "AB"}, rejected: true},
	"pipeline spans":        {engine: engine{grid: grid{1, 2, 1}, placement: "AB"}, rejected: true},
	"prefill context spans": {engine: engine{grid: grid{1, 1, 2}, placement: "AB"}, rejected: true},
	"all on one node":       {engine: engine{grid: grid{2, 2, 2}, placement: "AAAAAAAA"}},
	"no tiers":              {engine: engine{grid: grid{2, 1, 1}, placement: "AB", transfer: noTiers}, unprobed: true},

	// Rank 0 is in no group that spans, so that vLLM's own check lets it pass.
	"uneven": {engine: engine{grid: grid{2, 2, 1}, placement: "AAAB"}, rejected: true},
	// Only 3, 5, 6 and 7 are in a group that spans.
	"one of eight elsewhere": {engine: engine{grid: grid{2, 2, 2}, placement: "AAAAAAAB"}, rejected: true},
	"three nodes":            {engine: engine{grid: grid{1, 3, 1}, placement: "ABC"}, rejected: true},

	// One boot id does not make one /dev/shm (Modal's client and NCCL took it for that).
	"two pods of one host":        {engine: engine{grid: grid{2, 1, 1}, placement: "AP"}, rejected: true},
	"two containers of one pod":   {engine: engine{grid: grid{2, 1, 1}, placement: "AS"}},
	"memory that is not tmpfs":    {engine: engine{grid: grid{2, 1, 1}, placement: "DD"}, rejected: true, code: "probe"},
	"one worker":                  {engine: engine{grid: grid{1, 1, 1}, placement: "A"}, unprobed: true},
	"replicas on different nodes": {engine: engine{grid: grid{2, 1, 1}, placement: "AABB", replicas: 2}},
}

// TestPlacements runs every engine that is probed twice: with what its hosts know of themselves, and with all of that
// withheld, so that only the probe can tell.
func TestPlacements(t *testing.T) {
	s := newSite(t)
	svc := s.serve(t, tiergate(t), 8642)
	t.Run("engines", func(t *testing.T) {
		for name, c := range placements {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				e := c.named("facts-" + name)
				want := rejection{code: cmp.Or(c.code, "tiering.node_local"), facts: s.spans(e)}
				s.place(t, svc, e, c.rejected, !c.unprobed, want)
			})
			if c.unprobed {
				continue
			}
			t.Run(name+", facts withheld", func(t *testing.T) {
				t.Parallel()
				e := c.named("withheld-" + name)
				for _, key := range e.keys() {
					svc.tap.Forge(key, hosttest.Withhold)
				}
				s.place(t, svc, e, c.rejected, true, rejection{code: "probe", facts: always(v1.Unknown)})
			})
		}
	})
	for _, p := range s.places {
		assert.Empty(t, p.host.Segments(t), "nothing is left on %s", p.host.Name)
	}
}

// place runs an engine and checks what becomes of it.
func (s *site) place(t *testing.T, svc *service, e *engine, rejected, probed bool, want rejection) {
	t.Helper()
	run, ctx := s.begin(t, svc.tap.URL, e)
	results := run.results(ctx, t)
	if rejected {
		s.verifyRejected(t, t, svc.tap, run, results, want)
	} else {
		s.verifyAdmitted(t, t, svc.tap, run, results, probed)
	}
}
