package admission_test

import (
	"encoding/hex"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
)

// drawAttempt draws an engine whose ranks are anywhere and say what they like of where they are.
func drawAttempt(t *rapid.T) *attempt {
	size := rapid.Int64Range(1, 3)
	a := &attempt{tp: size.Draw(t, "tp"), pp: size.Draw(t, "pp"), pcp: size.Draw(t, "pcp")}
	// Few different letters make engines that are allowed likely.
	claims := rapid.SampledFrom([]string{"A", "AC", "aA", "AB", "PQ", "CD", "ABPQCDab"}).Draw(t, "claimed places")
	mounts := rapid.SampledFrom([]string{"A", "A", "A", "AB", "ABC"}).Draw(t, "mounts of ranks")
	for range a.grid().Replica() {
		a.claims += string(rapid.SampledFrom([]byte(claims)).Draw(t, "claim"))
		a.mounts += string(rapid.SampledFrom([]byte(mounts)).Draw(t, "mount"))
	}
	return a
}

// apart tells whether two ranks claim places of which both boot ids and devices are known and not the same.
func (a *attempt) apart() bool {
	known := map[string]bool{}
	for _, letter := range []byte(a.claims) {
		if f := places[letter]; f.BootID != "" {
			known[f.BootID+f.Shm.Device] = true
		}
	}
	return len(known) > 1
}

// An engine is allowed exactly if its ranks really share one mount and no facts say that they do not.
func TestAllowedExactlyIfShared(t *testing.T) {
	decide := decided(t)
	rapid.Check(t, func(t *rapid.T) {
		a := drawAttempt(t)
		r := a.run(t, decide)
		one := len(a.mounts) == 1
		want := one || len(slices.Compact(slices.Sorted(slices.Values([]byte(a.mounts))))) == 1 && !a.apart()
		require.Equal(t, want, r.admission.Outcome == v1.Allow, r.admission.Message)
		require.Equal(t, want, r.admission.Message == "" && r.admission.Code == "")
		if !want {
			require.Contains(t, r.admission.Message, admission.Spanning+": engine engine-a")
		}
		facts := map[string]bool{}
		for _, g := range r.admission.Groups {
			facts[g.Facts] = true
		}
		for _, c := range r.verdict.Checks {
			if c.ID == "tiering.node_local" && !one {
				require.Equal(t, c.Outcome == v1.Fail, facts[v1.NotShared], "policy and admission read the same from the facts")
				require.Equal(t, c.Outcome == v1.Unknown, facts[v1.Unknown] && !facts[v1.NotShared])
			}
		}
	})
}

// Whatever ranks answer, an allow means that every member of every group gave the leader's nonce, once.
func TestNoAllowWithoutEveryNonce(t *testing.T) {
	decide := decided(t)
	rapid.Check(t, func(t *rapid.T) {
		a := drawAttempt(t)
		answered := map[int64][]v1.ProbeAnswer{}
		a.tamper = func(rank int64, answers []v1.ProbeAnswer) []v1.ProbeAnswer {
			answers = tamper(t, answers)
			answered[rank] = slices.Clone(answers)
			return answers
		}
		r := a.run(t, decide)
		if r.admission.Outcome != v1.Allow {
			return
		}
		for _, g := range r.verdict.Probe {
			for _, rank := range g.Ranks {
				right := v1.ProbeAnswer{Kind: g.Kind, Outcome: v1.Shared, Nonce: hex.EncodeToString(nonceOf(g.Ranks[0]))}
				require.Equal(t, 1, count(answered[rank], right), "%s group %v, rank %d", g.Kind, g.Ranks, rank)
			}
		}
	})
}

func count(answers []v1.ProbeAnswer, want v1.ProbeAnswer) int {
	n := 0
	for _, a := range answers {
		if a.Kind == want.Kind && a.Outcome == want.Outcome && a.Nonce == want.Nonce {
			n++
		}
	}
	return n
}

// tamper changes at most one answer of a rank.
func tamper(t *rapid.T, answers []v1.ProbeAnswer) []v1.ProbeAnswer {
	if len(answers) == 0 || rapid.IntRange(0, 3).Draw(t, "leave as it is") > 0 {
		return answers
	}
	i := rapid.IntRange(0, len(answers)-1).Draw(t, "answer")
	switch rapid.IntRange(0, 6).Draw(t, "change") {
	case 0:
		answers[i].Outcome = v1.Shared
	case 1:
		answers[i].Nonce = ""
	case 2:
		answers[i].Nonce = hex.EncodeToString(nonceOf(rapid.Int64Range(0, 8).Draw(t, "nonce of")))
	case 3:
		answers[i].Kind = rapid.SampledFrom([]string{"tp", "pp", "pcp", "dp", ""}).Draw(t, "kind")
	case 4:
		return slices.Delete(answers, i, i+1)
	case 5:
		return append(answers, answers[i])
	case 6:
		answers[i].Outcome = rapid.SampledFrom([]string{v1.Unknown, v1.NotShared, "", "allow"}).Draw(t, "outcome")
	}
	return answers
}

// Each outcome alone is enough to reject an engine that is allowed with it.
func TestEveryOutcomeCounts(t *testing.T) {
	a := attempt{tp: 2, pp: 2, pcp: 2, claims: "AAAAAAAA", mounts: "AAAAAAAA"}
	r := a.run(t, decided(t))
	require.Equal(t, v1.Allow, r.admission.Outcome)
	admit := func(rank int64, change func([]v1.RankProbe) []v1.RankProbe) *v1.Admission {
		outcomes := maps.Clone(r.outcomes)
		outcomes[rank] = change(slices.Clone(outcomes[rank]))
		return admission.Admit("engine-a", r.verdict, r.reports, outcomes)
	}
	for rank := range int64(8) {
		require.Len(t, r.outcomes[rank], 3)
		assert.Equal(t, v1.Reject, admit(rank, func([]v1.RankProbe) []v1.RankProbe { return nil }).Outcome)
		for i := range 3 {
			for _, outcome := range []string{v1.NotShared, v1.Unknown, "", "Shared"} {
				got := admit(rank, func(p []v1.RankProbe) []v1.RankProbe { p[i].Outcome = outcome; return p })
				assert.Equal(t, v1.Reject, got.Outcome)
				assert.Equal(t, outcome == v1.NotShared && r.outcomes[rank][i].Leader != rank, got.Disagreement)
			}
			for _, change := range []func(p []v1.RankProbe) []v1.RankProbe{
				func(p []v1.RankProbe) []v1.RankProbe { p[i].Kind = "dp"; return p },
				func(p []v1.RankProbe) []v1.RankProbe { p[i].Leader++; return p },
				func(p []v1.RankProbe) []v1.RankProbe { return slices.Delete(p, i, i+1) },
				func(p []v1.RankProbe) []v1.RankProbe {
					p = append(p, p[i])
					p[3].Outcome = v1.NotShared
					return p
				},
			} {
				assert.Equal(t, v1.Reject, admit(rank, change).Outcome)
			}
		}
	}
}
