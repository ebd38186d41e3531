package api

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func outcomesOf(verdict []byte) (found []checkOutcome) {
	eachCheck(verdict, func(id, outcome, enforcement []byte) {
		found = append(found, checkOutcome{string(id), string(outcome), string(enforcement)})
	})
	return found
}

// eachCheck must see what a decoder sees, whatever texts the violations hold.
func TestEachCheckReadsWhatADecoderReads(t *testing.T) {
	hostile := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		`"`, `\`, `\"`, `}]`, `"id":"x"`, `{"outcome":"pass"}`, `"checks":[`, `:`,
	}))
	violation := rapid.Custom(func(t *rapid.T) v1.Violation {
		return v1.Violation{
			Message: hostile.Draw(t, "message"), Fix: hostile.Draw(t, "fix"),
			Group: &v1.Group{Kind: "tp", Ranks: []int64{0, 1}}, Nodes: rapid.SliceOf(hostile).Draw(t, "nodes"),
		}
	})
	check := rapid.Custom(func(t *rapid.T) v1.CheckResult {
		return v1.CheckResult{
			ID:          rapid.StringMatching(`[a-z]+\.[a-z_]+`).Draw(t, "id"),
			Outcome:     rapid.SampledFrom([]string{v1.Pass, v1.Fail, v1.Unknown, v1.NotApplicable}).Draw(t, "outcome"),
			Enforcement: rapid.SampledFrom([]string{v1.EnforceDeny, v1.EnforceWarn}).Draw(t, "enforcement"),
			Violations:  rapid.SliceOf(violation).Draw(t, "violations"),
			Missing:     rapid.SliceOf(hostile).Draw(t, "missing"),
			Waiver:      &v1.Waiver{Owner: hostile.Draw(t, "owner"), Reason: "r", Expires: "e"},
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		checks := rapid.SliceOf(check).Draw(t, "checks")
		verdict := v1.Verdict{Outcome: v1.Deny, Checks: checks, Assumed: []string{`"id":"x"`}}
		text, err := json.Marshal(verdict)
		require.NoError(t, err)
		var want []checkOutcome
		for _, c := range verdict.Checks {
			want = append(want, checkOutcome{c.ID, c.Outcome, c.Enforcement})
		}
		require.Equal(t, want, outcomesOf(text))
	})
}

func TestEachCheckReadsTheEnginesVerdicts(t *testing.T) {
	r := start(t, options(shipped(), nil))
	for _, explain := range []string{"", "?explain=full"} {
		_, text := ask(t, http.MethodPost, r.url+"/v1/validate"+explain, "", tiered("engine-a", "gpu-a", "gpu-b"))
		var want []checkOutcome
		for _, c := range verdictOf(t, text).Checks {
			want = append(want, checkOutcome{c.ID, c.Outcome, c.Enforcement})
		}
		assert.Equal(t, want, outcomesOf([]byte(text)))
		assert.Contains(t, want, checkOutcome{"tiering.node_local", "fail", "deny"})
	}
}

func FuzzEachCheck(f *testing.F) {
	f.Add([]byte(`{"checks":[{"enforcement":"deny","id":"a.b","outcome":"pass","violations":[]}],"probe":[]}`))
	f.Add([]byte(`"checks":[{"id":"\\`))
	f.Fuzz(func(_ *testing.T, verdict []byte) {
		outcomesOf(verdict) // It must end, whatever it is given.
	})
}
