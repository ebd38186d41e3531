package policy

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestTraceNamesTheRulesThatHeld(t *testing.T) {
	opts := Options{Sources: site(map[string]string{
		"size.rego": `# METADATA
# title: Size
# custom:
#   enforcement: deny
package tiergate.checks.site.size

applies := true

unknown contains "engine.id" if not input.engine.id

violations contains {"message": "too many"} if {
	input.engine.parallel.tensor > 4
}

violations contains {"message": "too wide"} if {
	data.acme.limits.wide
	input.engine.nnodes > 0
}
`,
		"limits.rego": `package acme.limits

wide if input.engine.parallel.tensor > 1
`,
	})}
	engine := newEngine(t, opts)
	launch := &v1.Launch{Engine: v1.Engine{Command: []string{"vllm", "serve", "m", "-tp", "2"}}}
	facts, err := engine.Facts(launch)
	require.NoError(t, err)
	tracer, err := NewTracer(opts)
	require.NoError(t, err)
	for outcome, want := range map[string][]Evidence{
		v1.Fail: {
			{
				Rule: "data.tiergate.checks.site.size.violations", File: "site/size.rego", Row: 15, Own: true,
				Reads: []FactRead{{"input.engine.nnodes", 17}},
			},
			{
				Rule: "data.acme.limits.wide", File: "site/limits.rego", Row: 3,
				Reads: []FactRead{{"input.engine.parallel.tensor", 3}},
			},
		},
		v1.Unknown: {{
			Rule: "data.tiergate.checks.site.size.unknown", File: "site/size.rego", Row: 9, Own: true,
			Reads: []FactRead{{"input.engine.id", 9}},
		}},
		v1.NotApplicable: {{Rule: "data.tiergate.checks.site.size.applies", File: "site/size.rego", Row: 7, Own: true}},
		v1.Pass:          nil,
	} {
		got, err := tracer.Trace(t.Context(), "site.size", outcome, facts)
		require.NoError(t, err)
		assert.Equal(t, want, got, outcome)
	}
}

// TestTraceAgreesWithTheVerdict: where a shipped check fails, the interpreter finds one of its rules that held, and where it
// passes, none.
func TestTraceAgreesWithTheVerdict(t *testing.T) {
	engine := newEngine(t, Options{})
	tracer, err := NewTracer(Options{})
	require.NoError(t, err)
	failing := 0
	for _, command := range [][]string{
		{"vllm", "serve", "m", "-tp", "4", "-n", "2", "--kv-transfer-config", `{"kv_connector":"OffloadingConnector",` +
			`"kv_role":"kv_both","kv_connector_extra_config":{"spec_name":"TieringOffloadingSpec","cpu_bytes_to_use":1,"secondary_tiers":[{"type":"fs"}]}}`},
		{"vllm", "serve", "m", "-tp", "4", "-n", "3"},
		{"vllm", "serve", "m", "-tp", "2"},
	} {
		launch := &v1.Launch{Engine: v1.Engine{Command: command}}
		decision, err := engine.Decide(t.Context(), launch)
		require.NoError(t, err)
		facts, err := engine.Facts(launch)
		require.NoError(t, err)
		var verdict v1.Verdict
		require.NoError(t, json.Unmarshal(decision.JSON, &verdict))
		for _, c := range verdict.Checks {
			held, err := tracer.Trace(t.Context(), c.ID, v1.Fail, facts)
			require.NoError(t, err)
			own := len(held) > 0 && held[0].Own
			if c.Outcome == v1.Fail {
				failing++
				assert.True(t, own, "%s fails for %v", c.ID, command)
			}
			if c.Outcome == v1.Pass {
				assert.False(t, own, "%s passes for %v", c.ID, command)
			}
		}
	}
	assert.GreaterOrEqual(t, failing, 2)
}
