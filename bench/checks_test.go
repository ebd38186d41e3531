package bench

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestPeerChecks(t *testing.T) {
	peers := startPeers(t)
	seen := make(map[string]bool)
	for _, c := range changes {
		launch := Launch(16, OK)
		c.make(launch)
		text, err := json.Marshal(launch)
		require.NoError(t, err)
		for _, peer := range peers {
			verdict := decide(t, peer, text)
			assert.Equal(t, c.outcome, outcomesOf(verdict)[c.check], "%s: %s (%s)", peer.Name, c.name, c.check)
			assertSound(t, verdict)
		}
		seen[c.check+" "+c.outcome] = true
	}
	assert.Subset(t, slices.Collect(maps.Keys(seen)), allOutcomes, "each check is seen to pass and to fail")
}

// allOutcomes are what the changes must at least bring about.
var allOutcomes = strings.Split(`capacity.shm pass
capacity.shm fail
capacity.shm not_applicable
capacity.stale_regions pass
capacity.stale_regions fail
capacity.stale_regions not_applicable
consistency.config pass
consistency.config fail
consistency.versions pass
consistency.versions fail
offload.config pass
offload.config fail
offload.waste pass
offload.waste fail
parallel.config pass
parallel.config fail
tiering.config pass
tiering.config fail
tiering.core_local pass
tiering.core_local fail
tiering.core_local unknown
tiering.mirror pass
tiering.mirror fail
tiering.node_local pass
tiering.node_local fail
tiering.node_local unknown
topology.ranks pass
topology.ranks fail`, "\n")

// assertSound checks that the parts of a verdict fit together.
func assertSound(t *testing.T, verdict v1.Verdict) {
	t.Helper()
	want := v1.Allow
	for _, check := range verdict.Checks {
		assert.Equal(t, check.Outcome == v1.Fail, len(check.Violations) > 0, check.ID)
		for _, violation := range check.Violations {
			assert.NotEmpty(t, violation.Message, check.ID)
			assert.NotEmpty(t, violation.Fix, check.ID)
		}
		switch {
		case check.Enforcement == v1.EnforceDeny && check.Outcome == v1.Fail:
			want = v1.Deny
		case check.Enforcement == v1.EnforceDeny && check.Outcome == v1.Unknown && want == v1.Allow:
			want = v1.Unknown
		}
	}
	assert.Equal(t, want, verdict.Outcome)
}
