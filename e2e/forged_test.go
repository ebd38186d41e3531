package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/hosttest"
)

// TestForgedFacts: facts decide nothing alone, in neither direction.
func TestForgedFacts(t *testing.T) {
	s := newSite(t)
	svc := s.serve(t, tiergate(t), 8642)
	tests := map[string]struct {
		engine
		forge func(int64, *v1.Report)
		facts string
	}{
		// As after copying a boot id, or on clones of one virtual machine's memory.
		"equal facts over different mounts": {
			engine{grid: grid{2, 1, 1}, placement: "AB"}, hosttest.SameDomain, v1.Shared,
		},
		"equal facts over different mounts, one of eight": {
			engine{grid: grid{2, 2, 2}, placement: "AAAAAAAB"}, hosttest.SameDomain, v1.Shared,
		},
		"different facts over one mount": {
			engine{grid: grid{2, 1, 1}, placement: "AA"}, hosttest.DomainPerRank, v1.NotShared,
		},
	}
	t.Run("engines", func(t *testing.T) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				e := test.named(name)
				svc.tap.Forge(e.name, test.forge)
				run, ctx := s.begin(t, svc.tap.URL, e)
				results := run.results(ctx, t)
				s.verifyRejected(t, t, svc.tap, run, results, rejection{
					code: "disagreement", disagreement: true, facts: always(test.facts),
				})
			})
		}
	})
	for _, p := range s.places {
		assert.Empty(t, p.host.Segments(t), "nothing is left on %s", p.host.Name)
	}
}
