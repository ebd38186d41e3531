package output

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// attemptOf is an attempt of 2 x 2 ranks, by rank on the node of that name, boot id and device.
func attemptOf(places ...[3]string) *v1.AttemptView {
	two := int64(2)
	view := &v1.AttemptView{AttemptID: "x", WorldSize: 4, Parallel: &v1.Parallel{Tensor: &two, Pipeline: &two, Data: &two}}
	for i, at := range places {
		view.Ranks = append(view.Ranks, v1.RankView{Rank: int64(i), Node: at[0], BootID: at[1], ShmDevice: at[2]})
	}
	return view
}

func TestReject(t *testing.T) {
	a, b := [3]string{"gpu-a", "boot-a", "0:27"}, [3]string{"gpu-b", "boot-b", "0:27"}
	pod := [3]string{"gpu-a", "boot-a", "0:39"}
	withheld := [3]string{"gpu-a", "", ""}
	elsewhere := [3]string{"gpu-b", "", ""}
	spanning := &v1.Admission{Attempt: 2, Message: "TieringOffloadingSpec secondary tiers are not supported on engines whose workers " +
		"span several nodes: engine chat\n- pp group of ranks 0, 2 spans 2 memory domains: rank 0 on gpu-a, rank 2 on gpu-b; rank 2 could " +
		"not open rank 0's segment (ENOENT)\nfix: place all ranks of a replica on one host"}
	verdict := &v1.Verdict{Revision: "r1", Digest: "sha256:d", Checks: []v1.CheckResult{
		{ID: "offload.config", Outcome: v1.Fail, Enforcement: v1.EnforceDeny, Violations: []v1.Violation{
			{Message: "no role", Fix: "set kv_role"}, {Message: "no role here", Fix: "set kv_role"},
		}},
		{ID: "tiering.node_local", Outcome: v1.Fail, Enforcement: v1.EnforceDeny, Violations: []v1.Violation{
			{Message: "spans", Fix: "place all ranks of a replica on one host"},
		}},
		{ID: "offload.waste", Outcome: v1.Fail, Enforcement: v1.EnforceWarn, Violations: []v1.Violation{{Message: "waste", Fix: "waste less"}}},
	}}
	for name, r := range map[string]Rejection{
		"spanning":      {Engine: "chat", Admission: spanning, Verdict: verdict, View: attemptOf(a, a, b, b)},
		"pods":          {Engine: "chat", Admission: spanning, View: attemptOf(a, a, pod, pod)},
		"withheld":      {Engine: "chat", Admission: spanning, View: attemptOf(withheld, withheld, elsewhere, elsewhere)},
		"one-node":      {Engine: "chat", Admission: &v1.Admission{Attempt: 1, Message: "offload.config: no role"}, Verdict: verdict, View: attemptOf(a, a, a, a)},
		"nothing-known": {Engine: "ch\x1b[31mat", Admission: &v1.Admission{Attempt: 1, Message: "internal: no verdict \x1b[2J"}},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			require.NoError(t, Reject(&b, Style{Width: 100}, r))
			file := filepath.Join("testdata", "rejection", name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), b.String())
		})
	}
}
