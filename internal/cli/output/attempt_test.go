package output

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestExplainAttempt(t *testing.T) {
	opened := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	ended := opened.Add(1234 * time.Millisecond)
	a, b := [3]string{"gpu-a", "boot-a", "0:27"}, [3]string{"gpu-b", "boot-b", "0:27"}
	attempt := func(view *v1.AttemptView, change func(*v1.AttemptView)) Attempt {
		view.Engine, view.Attempt, view.AttemptID, view.Opened = "chat", 2, "5f2c", opened
		for i := range view.Ranks {
			view.Ranks[i].Reported = opened.Add(time.Duration(i) * 150 * time.Millisecond)
		}
		change(view)
		return Attempt{View: view, Now: opened.Add(12 * time.Second)}
	}
	shared := func(ranks ...int) func(*v1.AttemptView) {
		return func(v *v1.AttemptView) {
			for _, r := range ranks {
				v.Ranks[r].Probe = []v1.RankProbe{{Kind: "tp", Leader: int64(r - r%2), Outcome: v1.Shared}, {Kind: "pp", Leader: int64(r % 2), Outcome: v1.Shared}}
			}
		}
	}
	verdict := &v1.Verdict{Outcome: v1.Deny, Revision: "r1", Digest: "sha256:d", Checks: []v1.CheckResult{
		{ID: "tiering.node_local", Outcome: v1.Fail, Enforcement: v1.EnforceDeny, Violations: []v1.Violation{{
			Message: "secondary tiers need each pp group in one node's shared memory, but pp group [1, 3] spans 2 nodes",
			Fix:     "place all ranks of a replica on one host",
		}}},
	}}
	first := v1.AttemptView{Engine: "chat", Attempt: 1, Opened: opened.Add(-time.Hour), End: &v1.AttemptEnd{
		Kind: v1.EndSuperseded, Message: "attempt 1 of engine chat was superseded: rank 3 was started again",
	}}
	rejected := attempt(attemptOf(a, a, a, b), func(v *v1.AttemptView) {
		shared(0, 1, 2)(v)
		v.Ranks[3].Domain, v.Ranks[3].Pod = 1, "chat-0-1"
		v.Ranks[3].Probe = []v1.RankProbe{
			{Kind: "tp", Leader: 2, Outcome: v1.Shared},
			{Kind: "pp", Leader: 1, Outcome: v1.NotShared, Reason: "ENOENT: open /dev/shm/tiergate-probe-x: no such file or directory"},
		}
		v.Phase, v.Ended, v.Verdict = v1.PhaseEnded, &ended, verdict
		v.Admission = &v1.Admission{Outcome: v1.Reject, Code: "disagreement", Groups: []v1.ProbedGroup{
			{Kind: "tp", Ranks: []int64{0, 1}, Outcome: v1.Shared, Facts: v1.Shared},
			{Kind: "tp", Ranks: []int64{2, 3}, Outcome: v1.Shared, Facts: v1.NotShared},
			{Kind: "pp", Ranks: []int64{1, 3}, Outcome: v1.NotShared, Facts: v1.NotShared, Members: []v1.ProbedMember{
				{Rank: 3, Node: "gpu-b", Outcome: v1.NotShared, Reason: "ENOENT: open /dev/shm/tiergate-probe-x: no such file or directory"},
			}},
		}}
		v.End = &v1.AttemptEnd{Kind: v1.EndAdmission, Message: "TieringOffloadingSpec secondary tiers are not supported on engines whose " +
			"workers span several nodes: engine chat\n- pp group of ranks 1, 3\nfix: place all ranks on one host"}
	})
	rejected.Others = []v1.AttemptView{first}
	for name, attempt := range map[string]Attempt{
		"rejected": rejected,
		"reporting": attempt(attemptOf(a, a, b), func(v *v1.AttemptView) {
			v.Phase, v.RemainingMS, v.Missing = v1.PhaseReport, 33000, []int64{3}
			v.Ranks[2].Domain = -1
		}),
		"probing": attempt(attemptOf(a, a, a, a), func(v *v1.AttemptView) {
			v.Phase, v.RemainingMS, v.Unanswered = v1.PhaseProbe, 4000, []int64{3}
			shared(0, 1, 2)(v)
		}),
		"admitted": attempt(attemptOf(a, a, a, a), func(v *v1.AttemptView) {
			shared(0, 1, 2, 3)(v)
			v.Phase, v.Ended, v.End = v1.PhaseEnded, &ended, &v1.AttemptEnd{Kind: v1.EndAdmission}
			v.Admission = &v1.Admission{Outcome: v1.Allow, Groups: []v1.ProbedGroup{{Kind: "tp", Ranks: []int64{0, 1}, Outcome: v1.Shared, Facts: v1.Shared}}}
			v.Core = &v1.CoreAdmission{Outcome: v1.Allow, Message: "the engine core shares memory with rank 0"}
		}),
		"timed-out": attempt(attemptOf(a), func(v *v1.AttemptView) {
			v.Phase, v.Ended, v.Missing = v1.PhaseEnded, &ended, []int64{1, 2, 3}
			v.End = &v1.AttemptEnd{Kind: v1.EndTimedOut, Ranks: v.Missing, Message: "attempt 2 of engine chat timed out after 45s: no report"}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			require.NoError(t, ExplainAttempt(&b, Style{Width: 100}, attempt))
			file := filepath.Join("testdata", "attempt", name+".txt")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
				require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), b.String())
		})
	}
}
