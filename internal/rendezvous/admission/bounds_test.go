package admission_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
	"github.com/tiergate/tiergate/topology"
)

// large is an attempt of many ranks, each on a host of its own with long names, and all with the same outcome.
func large(tp, pp, pcp int64, outcome, reason string) (*v1.Verdict, []admission.Ranked, map[int64][]v1.RankProbe) {
	engine := &topology.Engine{Tensor: tp, Pipeline: pp, PrefillContext: pcp, Data: 1}
	v := &v1.Verdict{
		Outcome: v1.Allow, Checks: []v1.CheckResult{check("tiering.node_local", v1.Pass, "deny")},
		Probe: topology.ProbeGroups(engine, topology.StageRegistration),
	}
	reports, outcomes := []admission.Ranked{}, map[int64][]v1.RankProbe{}
	for rank := range tp * pp * pcp {
		f := located("one host", "boot", "0:27")
		if outcome != v1.Shared {
			f = located(fmt.Sprintf("%s%d", strings.Repeat("node", 50), rank), fmt.Sprint("boot", rank), "0:27")
		}
		reports = append(reports, admission.Ranked{Rank: rank, Report: &v1.Report{
			Facts: f, Segment: &v1.Segment{Name: fmt.Sprint("tiergate-probe-", rank), SHA256: nonceHash},
		}})
	}
	for _, g := range v.Probe {
		for _, rank := range g.Ranks {
			outcomes[rank] = append(outcomes[rank], v1.RankProbe{Kind: g.Kind, Leader: g.Ranks[0], Outcome: outcome, Reason: reason})
		}
	}
	return v, reports, outcomes
}

// What is kept as one record and sent to every rank stays small, however large the engine is.
func TestLargeAdmissions(t *testing.T) {
	for _, test := range []struct {
		name, outcome string
		tp, pp, pcp   int64
		complete      bool
	}{
		{"allowed, few groups", v1.Shared, 8, 512, 1, true},
		{"allowed, many groups", v1.Shared, 2, 2, 2048, false},
		{"rejected, few groups", v1.NotShared, 8, 1024, 1, false},
		{"rejected, many groups", v1.NotShared, 2, 2, 2048, false},
		{"one group", v1.Unknown, 8192, 1, 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			verdict, reports, outcomes := large(test.tp, test.pp, test.pcp, test.outcome, "ENOENT: "+strings.Repeat("reason ", 50))
			a := admission.Admit("engine-a", verdict, reports, outcomes)
			assert.Equal(t, test.outcome == v1.Shared, a.Outcome == v1.Allow, a.Message)
			text, err := json.Marshal(a)
			require.NoError(t, err)
			assert.Less(t, len(text), 256<<10)
			assert.LessOrEqual(t, len(a.Message), 4096)
			assert.NotEmpty(t, a.Groups)
			assert.Equal(t, len(verdict.Probe), len(a.Groups)+int(a.MoreGroups), "what is left out is counted")
			assert.Equal(t, test.complete, a.MoreGroups == 0)
			if test.outcome != v1.Shared {
				g := a.Groups[0]
				assert.Equal(t, len(g.Ranks), len(g.Members)+int(g.MoreMembers))
				assert.Contains(t, a.Message, "\nfix: ")
			}
		})
	}
}

// Groups that speak against an engine are not the ones that are left out.
func TestRejectedGroupsAreListedFirst(t *testing.T) {
	verdict, reports, outcomes := large(2, 2, 2048, v1.Shared, "")
	outcomes[8191][2].Outcome = v1.Unknown
	a := admission.Admit("engine-a", verdict, reports, outcomes)
	assert.Positive(t, a.MoreGroups)
	last := a.Groups[len(a.Groups)-1]
	assert.Equal(t, v1.Unknown, last.Outcome)
	assert.Contains(t, last.Ranks, int64(8191))
	assert.Contains(t, a.Message, "1 of 8196 groups is not proved to share memory")
}

func TestMessagesAreBounded(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "x", "gpu-a", "é", "\n", "\xff", "%s"})
	rapid.Check(t, func(t *rapid.T) {
		long := func(label string) string {
			return strings.Repeat(text.Draw(t, label), rapid.SampledFrom([]int{1, 30, 900, 5000}).Draw(t, label+" times"))
		}
		a := drawAttempt(t)
		a.change = func(reports []admission.Ranked) {
			for _, r := range reports {
				f := &r.Report.Facts
				f.Node += long("node")
				f.Absent = append(f.Absent, v1.AbsentFact{Fact: "boot_id", Reason: long("absence")})
				if r.Report.Segment != nil && rapid.Bool().Draw(t, "no segment") {
					r.Report.Segment = &v1.Segment{Error: &v1.LocalFail{Errno: long("errno"), Detail: long("detail")}}
				}
			}
		}
		verdict := &v1.Verdict{Outcome: v1.Deny, Probe: topology.ProbeGroups(&topology.Engine{
			Tensor: a.tp, Pipeline: a.pp, PrefillContext: a.pcp, Data: 1,
		}, topology.StageRegistration)}
		for i := range rapid.IntRange(1, 9).Draw(t, "checks") {
			outcome := rapid.SampledFrom([]string{v1.Fail, v1.Unknown}).Draw(t, "outcome")
			c := check(fmt.Sprint("site.", i), outcome, "deny", long("violation"), "x", "x", "x")
			c.Missing = []string{long("missing")}
			verdict.Checks = append(verdict.Checks, c)
		}
		r := a.run(t, func(*v1.Launch) *v1.Verdict { return verdict })
		message := r.admission.Message
		require.LessOrEqual(t, len(message), 4096)
		require.NotEmpty(t, message)
		for line := range strings.SplitSeq(message, "\n") {
			require.NotEmpty(t, line)
			require.NotContains(t, line, "\ufffd")
		}
		encoded, err := json.Marshal(message)
		require.NoError(t, err)
		require.NotContains(t, string(encoded), `\u00`, "no control character gets through")
	})
}

func BenchmarkAdmit(b *testing.B) {
	for name, outcome := range map[string]string{"allow": v1.Shared, "reject": v1.NotShared} {
		b.Run(name, func(b *testing.B) {
			verdict, reports, outcomes := large(8, 512, 1, outcome, "ENOENT")
			b.ReportAllocs()
			for b.Loop() {
				admission.Launch("engine-a", 4096, reports)
				admission.Admit("engine-a", verdict, reports, outcomes)
			}
		})
	}
}
