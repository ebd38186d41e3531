package admission_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
)

func noSegment(rank int64, errno, detail string) func([]admission.Ranked) {
	return func(reports []admission.Ranked) {
		reports[rank].Report.Segment = &v1.Segment{Error: &v1.LocalFail{Errno: errno, Detail: detail}}
	}
}

func tampered(rank int64, change func(*v1.ProbeAnswer)) func(int64, []v1.ProbeAnswer) []v1.ProbeAnswer {
	return func(own int64, answers []v1.ProbeAnswer) []v1.ProbeAnswer {
		if own == rank {
			for i := range answers {
				change(&answers[i])
			}
		}
		return answers
	}
}

// Every way in which an attempt with a verdict goes, with the whole text that each of its ranks gets.
func TestAdmissions(t *testing.T) {
	full := "fallocate /dev/shm: no space left on device; /dev/shm has 0 of 67108864 bytes and 12 of 2048 inodes free; remove stale " +
		"files from it or mount it larger"
	for _, test := range []struct {
		name    string
		attempt attempt
		code    string // empty for an allow
	}{
		// The unit cases of vLLM 62930.
		{"tp spans", attempt{tp: 2, claims: "AB", mounts: "AB"}, "tiering.node_local"},
		{"pp spans", attempt{pp: 2, claims: "AB", mounts: "AB"}, "tiering.node_local"},
		{"pcp spans", attempt{pcp: 2, claims: "AB", mounts: "AB"}, "tiering.node_local"},
		{"all local", attempt{tp: 2, pp: 2, claims: "AAAA", mounts: "AAAA"}, ""},
		{"no tiers", attempt{tp: 2, claims: "AB", mounts: "AB", untiered: true}, ""},

		{"uneven", attempt{tp: 2, pp: 2, claims: "AAAB", mounts: "AAAB"}, "tiering.node_local"},
		{"outlier", attempt{tp: 2, pp: 2, pcp: 2, claims: "AAAAAAAB", mounts: "AAAAAAAB"}, "tiering.node_local"},
		{"two pods of one host", attempt{tp: 2, claims: "PQ", mounts: "PQ"}, "tiering.node_local"},
		{"containers with one mount", attempt{tp: 2, claims: "CD", mounts: "CC"}, ""},
		{"one worker", attempt{claims: "A", mounts: "A"}, ""},

		// The same without what would tell: only the probe decides.
		{"withheld tp spans", attempt{tp: 2, claims: "ab", mounts: "AB"}, admission.CodeProbe},
		{"withheld uneven", attempt{tp: 2, pp: 2, claims: "aaab", mounts: "AAAB"}, admission.CodeProbe},
		{"withheld on nodes of one name", attempt{tp: 2, claims: "aa", mounts: "AB"}, admission.CodeProbe},
		{"withheld and local", attempt{tp: 2, pp: 2, claims: "aaaa", mounts: "AAAA"}, ""},
		{"withheld by some and local", attempt{tp: 2, pp: 2, claims: "aAAa", mounts: "AAAA"}, ""},

		// Facts and probe contradict each other.
		{"facts forged equal", attempt{tp: 2, claims: "AA", mounts: "AB"}, admission.CodeDisagreement},
		{"facts forged different", attempt{tp: 2, claims: "AB", mounts: "AA"}, admission.CodeDisagreement},
		{"forged among withheld", attempt{tp: 4, claims: "aABB", mounts: "AAAB"}, admission.CodeDisagreement},
		{"forged before a witness", attempt{tp: 3, claims: "aAA", mounts: "ABA"}, admission.CodeDisagreement},
		{"a segment that is gone", attempt{tp: 2, claims: "AA", mounts: "AA", tamper: func(_ int64, a []v1.ProbeAnswer) []v1.ProbeAnswer {
			a[0] = v1.ProbeAnswer{Kind: "tp", Outcome: v1.NotShared, Error: &v1.LocalFail{Errno: "ENOENT"}}
			return a
		}}, admission.CodeDisagreement},
		{"forged across groups", attempt{tp: 2, pp: 2, claims: "aABb", mounts: "AAAA"}, admission.CodeDisagreement},
		{"forged for two of four", attempt{tp: 4, claims: "AAAB", mounts: "AABC"}, admission.CodeDisagreement},

		{"no room on rank 0", attempt{tp: 2, pp: 2, claims: "AAAA", mounts: "AAAA", change: noSegment(0, "ENOSPC", full)}, admission.CodeProbe},
		{"not permitted", attempt{tp: 2, claims: "AA", mounts: "AA", tamper: tampered(1, func(a *v1.ProbeAnswer) {
			a.Outcome, a.Nonce, a.Error = v1.Unknown, "", &v1.LocalFail{Errno: "EACCES", Detail: "it is shared but not permitted"}
		})}, admission.CodeProbe},
		{"a lie of the probe", attempt{tp: 2, claims: "AB", mounts: "AB", tamper: tampered(1, func(a *v1.ProbeAnswer) {
			a.Outcome, a.Error = v1.Shared, nil
		})}, "tiering.node_local"},
		{"a forged nonce", attempt{tp: 2, claims: "aa", mounts: "AA", tamper: tampered(1, func(a *v1.ProbeAnswer) {
			a.Nonce = strings.Repeat("00", 32)
		})}, admission.CodeProbe},

		// Other checks reject.
		{"no space for the region", attempt{tp: 2, claims: "AA", mounts: "AA", change: func(r []admission.Ranked) {
			r[1].Report.Facts.Shm = &v1.ShmFacts{Device: "0:27", FreeBytes: pointer(int64(1024))}
		}}, "capacity.shm"},
		{"spans and no space", attempt{tp: 2, claims: "AB", mounts: "AB", change: func(r []admission.Ranked) {
			r[1].Report.Facts.Shm = &v1.ShmFacts{Device: "0:27", FreeBytes: pointer(int64(1024))}
		}}, "tiering.node_local"},
		{"world sizes differ", attempt{tp: 4, claims: "AABB", mounts: "AABB", change: func(r []admission.Ranked) {
			r[1].Report.WorldSize, r[3].Report.WorldSize = 8, 8
		}}, "consistency.config"},
		{"world size of one differs on one node", attempt{tp: 2, claims: "AA", mounts: "AA", change: func(r []admission.Ranked) {
			r[0].Report.WorldSize, r[0].Report.Configuration.Parallel = 8, &v1.Parallel{Tensor: pointer(int64(8))}
		}}, "consistency.config"},
		{"groups differ", attempt{tp: 2, pp: 2, claims: "AAAA", mounts: "AAAA", change: func(r []admission.Ranked) {
			r[1].Report.Groups = map[string][]int64{"tp": {1, 3}, "pp": {0, 1}}
		}}, "topology.ranks"},
		{"versions differ", attempt{tp: 2, claims: "AA", mounts: "AA", change: func(r []admission.Ranked) {
			r[1].Report.Configuration.Version = "0.32.0"
		}}, "consistency.config"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := test.attempt.run(t, decided(t))
			a := r.admission
			assert.Equal(t, test.code, a.Code)
			assert.Equal(t, test.code == admission.CodeDisagreement, a.Disagreement)
			if test.code == "" {
				assert.Equal(t, v1.Allow, a.Outcome)
				assert.Empty(t, a.Message)
				return
			}
			assert.Equal(t, v1.Reject, a.Outcome)
			golden(t, test.name, a.Message+"\n")
		})
	}
}

// One rank that is known not to share memory outweighs any number that could not tell.
func TestOutcomeOfAGroup(t *testing.T) {
	outcomes := map[byte]string{'s': v1.Shared, 'u': v1.Unknown, 'n': v1.NotShared}
	for found, want := range map[string]string{
		"ssss": v1.Shared, "suss": v1.Unknown, "sssn": v1.NotShared, "susn": v1.NotShared, "snsu": v1.NotShared,
	} {
		a := attempt{tp: 4, claims: "aaaa", mounts: "AAAA", tamper: func(rank int64, answers []v1.ProbeAnswer) []v1.ProbeAnswer {
			answers[0].Outcome = outcomes[found[rank]]
			return answers
		}}
		assert.Equal(t, want, a.run(t, decided(t)).admission.Groups[0].Outcome, found)
	}
}

// Rank 0 of the uneven example is in no group that spans, and vLLM's own check lets it pass.
func TestRankWhoseGroupsAreLocalIsRejectedToo(t *testing.T) {
	a := attempt{tp: 2, pp: 2, claims: "AAAB", mounts: "AAAB"}
	r := a.run(t, decided(t))
	assert.Equal(t, map[int64]string{0: "tp0 pp0 ", 1: "tp0 pp1 ", 2: "tp2 pp0 ", 3: "tp2 pp1 "}, r.opened)
	for _, p := range r.outcomes[0] {
		assert.Equal(t, v1.Shared, p.Outcome)
	}
	assert.Equal(t, v1.Reject, r.admission.Outcome)
	member := v1.ProbedMember{Rank: 3, Node: "gpu-b", Outcome: v1.NotShared}
	groups := r.admission.Groups
	for i := range groups {
		for j := range groups[i].Members {
			assert.Contains(t, groups[i].Members[j].Reason, "ENOENT")
			groups[i].Members[j].Reason = ""
		}
	}
	assert.Equal(t, []v1.ProbedGroup{
		{Kind: "tp", Ranks: []int64{0, 1}, Outcome: v1.Shared, Facts: v1.Shared},
		{Kind: "tp", Ranks: []int64{2, 3}, Outcome: v1.NotShared, Facts: v1.NotShared, Members: []v1.ProbedMember{member}},
		{Kind: "pp", Ranks: []int64{0, 2}, Outcome: v1.Shared, Facts: v1.Shared},
		{Kind: "pp", Ranks: []int64{1, 3}, Outcome: v1.NotShared, Facts: v1.NotShared, Members: []v1.ProbedMember{member}},
	}, groups)
}
