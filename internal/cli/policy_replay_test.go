package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/cli/input"
	"github.com/tiergate/tiergate/internal/decisionlog"
	"github.com/tiergate/tiergate/internal/lookback"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
)

// recordLaunches decides all launches of testdata/launches, with secrets added to them, and writes a log of that.
func recordLaunches(t *testing.T) (log string, count int) {
	t.Helper()
	l, err := newLocal(t.Context(), &policyFlags{})
	require.NoError(t, err)
	t.Cleanup(l.close)
	files, err := filepath.Glob("../../testdata/launches/*.yaml")
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, ".expect.yaml") })
	log = filepath.Join(t.TempDir(), "decisions.log")
	sink, err := decisionlog.OpenFile(log, 1<<30, 1)
	require.NoError(t, err)
	decisions, err := decisionlog.Open(decisionlog.Options{Sink: sink})
	require.NoError(t, err)
	for _, in := range input.Files(files, nil) {
		require.NoError(t, in.Err)
		launch := withSecrets(in.Launch)
		d, err := l.engine.Decide(t.Context(), launch)
		require.NoError(t, err, in.Source)
		masked, places := decisionlog.Mask(launch)
		assert.NotEmpty(t, places)
		then, err := time.Parse(time.RFC3339, d.Now)
		require.NoError(t, err)
		again, err := l.engine.DecideAsOf(t.Context(), then, topology.StageLaunch, masked)
		require.NoError(t, err, in.Source)
		assert.Equal(t, d.Digest, again.Digest, "%s: the rules see the same without the secrets", in.Source)
		decisions.Record(&decisionlog.Record{
			DecisionID: in.Source, Kind: decisionlog.KindValidate, Path: policy.Verdict, Stage: topology.StageLaunch, Now: d.Now,
			Revision: d.Revision, Digest: d.Digest, Input: launch, Result: d.JSON,
		}, 0)
		count++
	}
	require.NoError(t, decisions.Close(t.Context()))
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "hunter2")
	return log, count
}

func withSecrets(launch *v1.Launch) *v1.Launch {
	out := *launch
	out.Engine.Env = maps.Clone(launch.Engine.Env)
	if out.Engine.Env == nil {
		out.Engine.Env = map[string]string{}
	}
	out.Engine.Env["AWS_SECRET_ACCESS_KEY"] = "hunter2"
	if c := launch.Engine.Command; len(c) > 0 && filepath.Base(c[0]) == "vllm" {
		out.Engine.Command = append(slices.Clone(c), "--api-key", "hunter2", "--hf-token=hunter2")
	}
	return &out
}

func TestReplayOfEveryLaunch(t *testing.T) {
	log, count := recordLaunches(t)
	status, stdout, stderr := runIn(t, "", "policy", "replay", log, "-o", "json")
	assert.Equal(t, int(StatusAllow), status, "%s%s", stdout, stderr)
	var s lookback.Summary
	require.NoError(t, json.Unmarshal([]byte(stdout), &s))
	assert.Equal(t, count, s.Verified, "the same revision comes to the same digests: %s", stdout)
	assert.Empty(t, s.Flips)

	data := filepath.Join(t.TempDir(), "data.yaml")
	require.NoError(t, os.WriteFile(data, []byte("settings: {enforcement: {tiering.node_local: warn}}"), 0o600))
	status, stdout, _ = runIn(t, "", "policy", "replay", log, "--data", data)
	assert.Equal(t, int(StatusDeny), status)
	assert.Contains(t, stdout, "tiering.node_local: fail -> fail (warn), ")
	assert.Contains(t, stdout, "verdict: deny -> ")
	assert.Contains(t, stdout, fmt.Sprintf("of %d launches come out differently under revision ", count))
}

func TestReplayTellsWhatIsWrong(t *testing.T) {
	log, _ := recordLaunches(t)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	first, _, _ := bytes.Cut(text, []byte{'\n'})

	var r map[string]any
	require.NoError(t, json.Unmarshal(first, &r))
	delete(r, "masked")
	r["digest"] = "sha256:0"
	forged, err := json.Marshal(r)
	require.NoError(t, err)
	status, stdout, _ := runIn(t, string(forged), "policy", "replay", "-")
	assert.Equal(t, int(StatusInternal), status)
	assert.Contains(t, stdout, "another verdict under the same revision: ")

	status, _, stderr := runIn(t, string(first)+"\n{\"kind\":", "policy", "replay", "-")
	assert.Equal(t, int(StatusUsage), status)
	assert.Contains(t, stderr, "line 2 is no record of a decision log")

	status, _, _ = runIn(t, "", "policy", "replay", "nowhere.log")
	assert.Equal(t, int(StatusUsage), status)

	status, stdout, _ = runIn(t, `{"kind": "admission", "result": {}}`, "policy", "replay", "-")
	assert.Equal(t, int(StatusAllow), status)
	assert.Contains(t, stdout, "0 of 0 launches come out differently")
}
