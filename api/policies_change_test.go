package api

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/decisionlog"
	"github.com/tiergate/tiergate/internal/rollout"
	"github.com/tiergate/tiergate/policy"
)

const relaxed = `{"settings": {"enforcement": {"tiering.node_local": "warn"}}}`

// packed is a bundle of files.
func packed(t testing.TB, files map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for name, text := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(text)), Mode: 0o644}))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zip.Close())
	return out.String()
}

// ruled is a guarded service whose administrator can change its policy; a stored launch spans nodes.
func ruled(t testing.TB, change func(*rollout.Options)) *meeting {
	t.Helper()
	launches := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(launches, "fleet.json"), []byte(tiered("engine-a", "gpu-a", "gpu-b")), 0o600))
	opts := rollout.Options{StateDir: t.TempDir(), LaunchDir: launches, Policy: policy.Options{Now: now}}
	if change != nil {
		change(&opts)
	}
	policies, err := rollout.Open(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, policies.Close(t.Context())) })
	log, err := decisionlog.Open(decisionlog.Options{Sink: decisionlog.Discard{}, RecentBytes: 1 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, log.Close(t.Context())) })
	return guarded(t, cast, func(o *Options) {
		o.Engine, o.Policies, o.Decisions, o.Config.AdminAPI = policies.Engine(), policies, log, true
	})
}

func reportOf(t testing.TB, text string) *v1.PolicyReport {
	t.Helper()
	r := new(v1.PolicyReport)
	require.NoError(t, json.Unmarshal([]byte(text), r))
	return r
}

func TestAnAdministratorChangesThePolicy(t *testing.T) {
	m, d := ruled(t, nil), describe(t)
	const path = "/v1/policies"
	spanning := tiered("engine-b", "gpu-a", "gpu-b")
	before := m.as(t, "admin", http.MethodGet, path, nil).matches(t, d, http.MethodGet, path)
	etag := before.Header.Get("ETag")

	flips := m.as(t, "admin", http.MethodPut, path, packed(t, map[string]string{"data.json": relaxed})).matches(t, d, http.MethodPut, path)
	report := flips.problem(t, http.StatusConflict, v1.CodeVerdictsFlip).Report
	require.Len(t, report.Flips, 1)
	assert.Equal(t, []string{"fleet.json", "deny", "allow"}, []string{report.Flips[0].Launch, report.Flips[0].From, report.Flips[0].To})
	assert.Equal(t, "deny", verdictOf(t, m.as(t, "launcher", http.MethodPost, "/v1/validate", spanning).text).Outcome)
	shown := m.as(t, "admin", http.MethodGet, path, nil).matches(t, d, http.MethodGet, path)
	assert.NotEqual(t, etag, shown.Header.Get("ETag"), "there is something new to tell")
	assert.Contains(t, shown.text, `"candidate":{"stage":"launches"`)
	assert.Contains(t, m.as(t, "reader", http.MethodGet, "/metrics", nil).text, "tiergate_policy_candidate_refused 1")

	broken := m.as(t, "admin", http.MethodPut, path, packed(t, map[string]string{"a.rego": "package a {"})).matches(t, d, http.MethodPut, path)
	assert.Equal(t, 1, broken.problem(t, http.StatusUnprocessableEntity, v1.CodePolicyRefused).Report.Findings[0].Line)
	m.as(t, "admin", http.MethodPut, path, "no bundle").problem(t, http.StatusUnprocessableEntity, v1.CodePolicyRefused)
	m.as(t, "admin", http.MethodPut, path+"?accept=fleet.json", "").problem(t, http.StatusBadRequest, v1.CodeInvalidParameter)

	taken := m.as(t, "admin", http.MethodPut, path+"?accept=fleet.json=allow", packed(t, map[string]string{"data.json": relaxed}))
	require.Equal(t, http.StatusOK, taken.StatusCode, taken.text)
	assert.Equal(t, v1.StageActive, reportOf(t, taken.matches(t, d, http.MethodPut, path).text).Stage)
	verdict := verdictOf(t, m.as(t, "launcher", http.MethodPost, "/v1/validate", spanning).text)
	assert.Equal(t, []string{"allow", reportOf(t, taken.text).Revision}, []string{verdict.Outcome, verdict.Revision})
	metrics := m.as(t, "reader", http.MethodGet, "/metrics", nil).text
	assert.Contains(t, metrics, "tiergate_policy_candidate_refused 0")
	assert.Contains(t, metrics, `tiergate_policy_reloads_total{stage="active"} 2`)
	assert.Contains(t, metrics, `tiergate_policy_reloads_total{stage="compile"} 1`)
}

func TestAPreviewChangesNothing(t *testing.T) {
	m, d := ruled(t, nil), describe(t)
	const path = "/v1/policies/preview"
	spanning := tiered("engine-b", "gpu-a", "gpu-b")
	for range 3 {
		require.Equal(t, http.StatusOK, m.as(t, "launcher", http.MethodPost, "/v1/validate", spanning).StatusCode)
	}
	await(t, func() bool { return m.decisions.Stats().Delivered == 3 })
	asked := m.as(t, "admin", http.MethodPost, path, packed(t, map[string]string{"data.json": relaxed})).matches(t, d, http.MethodPost, path)
	require.Equal(t, http.StatusOK, asked.StatusCode, asked.text)
	report := reportOf(t, asked.text)
	assert.Equal(t, v1.StageLaunches, report.Stage)
	assert.Equal(t, 3, report.Replay.Flipped)
	assert.Equal(t, v1.FlipGroup{
		Flip: v1.Flip{Check: "verdict", From: "deny", To: "allow"}, Count: 3, Examples: report.Replay.Flips[1].Examples,
	}, report.Replay.Flips[1])
	assert.Equal(t, "deny", verdictOf(t, m.as(t, "launcher", http.MethodPost, "/v1/validate", spanning).text).Outcome)
	assert.NotContains(t, m.as(t, "admin", http.MethodGet, "/v1/policies", nil).text, `"candidate"`)

	texts := context.WithValue(context.WithValue(t.Context(), bearer{}, tokenOf("admin")), contentType{}, "application/json")
	for body, status := range map[string]int{
		`{"files": {"a.rego": "package a {"}}`: http.StatusOK, `{"files": {"data.json": "{}"}}`: http.StatusOK,
		`{"file": {}}`: http.StatusUnprocessableEntity, `{}`: http.StatusUnprocessableEntity,
	} {
		answer, err := m.send(texts, http.MethodPost, path, body)
		require.NoError(t, err)
		assert.Equal(t, status, answer.matches(t, d, http.MethodPost, path).StatusCode, answer.text)
	}
	answer, err := m.send(texts, http.MethodPost, path, `{"files": {"data.json": "{}"}, "data": `+relaxed+`}`)
	require.NoError(t, err)
	assert.Equal(t, v1.StageLaunches, reportOf(t, answer.matches(t, d, http.MethodPost, path).text).Stage, "the data count")
	m.as(t, "admin", http.MethodPost, path, "no bundle").matches(t, d, http.MethodPost, path).problem(t, http.StatusUnprocessableEntity, v1.CodePolicyRefused)
}

func TestPoliciesThatComeFromElsewhere(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data.json"), []byte(`{"a": 1}`), 0o600))
	m := ruled(t, func(o *rollout.Options) { o.Sources = []string{dir} })
	detail := m.as(t, "admin", http.MethodPut, "/v1/policies", packed(t, nil)).problem(t, http.StatusNotFound, v1.CodeNotEnabled).Detail
	assert.Equal(t, "the policies of this service come from its sources; change them there", detail)
	assert.Contains(t, m.as(t, "admin", http.MethodGet, "/v1/policies", nil).text, `"sources":[{"source":"`+dir+`","read":"`)

	bare := guarded(t, cast, func(o *Options) { o.Config.AdminAPI = true })
	for method, path := range map[string]string{http.MethodPut: "/v1/policies", http.MethodPost: "/v1/policies/preview"} {
		bare.as(t, "admin", method, path, "x").problem(t, http.StatusNotFound, v1.CodeNotEnabled)
	}
}
