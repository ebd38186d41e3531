package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestNoServiceIsNeededWithoutTiers: an engine that cannot go wrong starts whether or not somebody is there to say so.
func TestNoServiceIsNeededWithoutTiers(t *testing.T) {
	s := newSite(t)
	services := map[string]string{
		"nobody listens": "http://" + s.serves.Address + ":9",
		"no such host":   "http://10.86.200.200:8642",
	}
	engines := map[string]engine{
		"no tiers":   {grid: grid{2, 1, 1}, placement: "AB", transfer: noTiers},
		"one worker": {grid: grid{1, 1, 1}, placement: "A"},
	}
	for service, url := range services {
		for name, e := range engines {
			t.Run(service+", "+name, func(t *testing.T) {
				t.Parallel()
				run, ctx := s.begin(t, url, e.named(name))
				for i, r := range run.results(ctx, t) {
					assert.Equal(t, "admitted", r.Kind, "worker %d: %s", i, r.Error)
					assert.Empty(t, r.Opened)
					assert.Less(t, time.Duration(r.Returned-r.Called), promptly+500*time.Millisecond, "nobody is waited for")
				}
				assert.Len(t, run.allocated(), len(e.placement), "every callback ran")
				for _, p := range s.places {
					assert.Empty(t, p.host.Segments(t), "nothing is made on %s", p.host.Name)
				}
			})
		}
	}
}
