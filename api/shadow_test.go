package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/policy"
)

func TestAShadowCountsAndDecidesNothing(t *testing.T) {
	candidate, err := policy.New(t.Context(), policy.Options{
		Sources: []policy.Source{hostileRules}, Now: now, Data: []byte(`{"settings": {"enforcement": {"tiering.node_local": "warn"}}}`),
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, candidate.Close(t.Context())) })
	opts := options(shipped(), nil)
	opts.Shadow = candidate
	r := start(t, opts)
	spanning, local, failing := tiered("engine-a", "gpu-a", "gpu-b"), tiered("engine-b", "gpu-a", "gpu-a"), tiered("builtin", "gpu-a", "gpu-a")
	for body, outcome := range map[string]string{spanning: "deny", local: "allow", failing: "allow"} {
		_, answer := ask(t, http.MethodPost, r.url+"/v1/validate", "application/json", body)
		assert.True(t, strings.HasPrefix(answer, `{"outcome":"`+outcome+`"`), answer)
	}
	var metrics string
	await(t, func() bool {
		_, metrics = ask(t, http.MethodGet, r.url+"/metrics", "", "")
		return strings.Contains(metrics, `tiergate_shadow_decisions_total{result="error"} 1`) &&
			strings.Contains(metrics, `tiergate_shadow_decisions_total{result="disagree"} 2`)
	})
	assert.Contains(t, metrics, `tiergate_shadow_disagreements_total{active="fail",check="tiering.node_local",shadow="fail (warn)"} 1`)
	assert.Contains(t, metrics, `tiergate_shadow_disagreements_total{active="deny",check="verdict",shadow="allow"} 1`)
}

// A candidate that takes forever is passed by.
func TestAShadowThatHangs(t *testing.T) {
	opts := options(shipped(), nil)
	opts.Shadow = shipped()
	s, err := New(opts) // nobody runs the shadow, so that its queue fills
	require.NoError(t, err)
	for range 100 {
		assert.Equal(t, http.StatusOK, answered(s, http.MethodPost, "/v1/validate", tiered("engine-a", "gpu-a", "gpu-b")).Code)
	}
	assert.Contains(t, answered(s, http.MethodGet, "/metrics", "").Body.String(), `tiergate_shadow_decisions_total{result="skipped"} 36`)
}
