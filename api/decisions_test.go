package api

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/decisionlog"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
)

func TestEveryVerdictIsRecorded(t *testing.T) {
	var out bytes.Buffer
	log, err := decisionlog.Open(decisionlog.Options{Sink: decisionlog.Stream{W: &out}})
	require.NoError(t, err)
	opts := options(shipped(), nil)
	opts.Decisions = log
	s, err := New(opts)
	require.NoError(t, err)
	launch := tiered("engine-a", "gpu-a", "gpu-b")
	var verdict v1.Verdict
	body := answered(s, http.MethodPost, "/v1/validate", launch).Body.Bytes()
	require.NoError(t, json.Unmarshal(body, &verdict))
	answered(s, http.MethodPost, "/v1/data/tiergate/verdict", `{"input": `+launch+`}`)
	answered(s, http.MethodPost, "/v1/validate", `{"engine": {"secret": "hunter2"}}`)
	metrics := answered(s, http.MethodGet, "/metrics", "").Body.String()
	assert.Contains(t, metrics, "tiergate_decision_log_recorded_total 2")
	assert.Contains(t, metrics, `tiergate_decision_log_dropped_total{reason="buffer_full"} 0`)
	require.NoError(t, log.Close(t.Context()))

	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte{'\n'})
	require.Len(t, lines, 2)
	for i, kind := range []string{decisionlog.KindValidate, decisionlog.KindData} {
		var r decisionlog.Record
		require.NoError(t, json.Unmarshal(lines[i], &r, json.RejectUnknownMembers(true)))
		assert.Equal(t, kind, r.Kind)
		assert.Equal(t, policy.Verdict, r.Path)
		assert.Equal(t, "id-1", r.DecisionID)
		assert.Equal(t, "2026-12-01T03:00:00Z", r.Now)
		assert.Equal(t, verdict.Digest, r.Digest)
		assert.JSONEq(t, string(body), string(r.Result))
		assert.Equal(t, "engine-a", r.Input.Engine.ID)
		assert.Positive(t, r.Metrics[decisionlog.TimerHandler])
	}
}

// The engine remembers verdicts, and an explanation must not be written over one.
func TestAnExplanationLeavesTheVerdictWhole(t *testing.T) {
	s, err := New(options(shipped(), nil))
	require.NoError(t, err)
	launch := tiered("explained", "gpu-a", "gpu-b")
	first := answered(s, http.MethodPost, "/v1/validate", launch).Body.String()
	answered(s, http.MethodPost, "/v1/validate?explain=notes", launch)
	assert.Equal(t, first, answered(s, http.MethodPost, "/v1/validate", launch).Body.String())
}

// An engine that comes up leaves its verdict, its admission and its core's, each once, though every rank asked.
func TestEveryAdmissionIsRecorded(t *testing.T) {
	var out bytes.Buffer
	log, err := decisionlog.Open(decisionlog.Options{Sink: decisionlog.Stream{W: &out}})
	require.NoError(t, err)
	opts := options(shipped(), nil)
	opts.Decisions = log
	m := meetWith(t, opts)
	first, second := m.gathered(t)
	waiting := m.later(t, 1, probePath(1, 0), found(0, first))
	admission := m.ask(t, http.MethodPut, probePath(1, 1), found(1, second)).progress(t, http.StatusOK).Admission
	(<-waiting).progress(t, http.StatusOK)
	core := &v1.CoreReport{Protocol: v1.Protocol, AttemptID: first.AttemptID, Incarnation: incarnation(9), Facts: worker(0, "gpu-a").Facts}
	require.Equal(t, http.StatusOK, m.ask(t, http.MethodPut, engineA+"/attempts/1/core", core).StatusCode)
	require.NoError(t, log.Close(t.Context()))

	var kinds []string
	for line := range bytes.Lines(out.Bytes()) {
		var r decisionlog.Record
		require.NoError(t, json.Unmarshal(line, &r, json.RejectUnknownMembers(true)))
		kinds = append(kinds, r.Kind)
		assert.Equal(t, strings.TrimPrefix(engineA, "/v1/engines/"), r.Engine)
		switch r.Kind {
		case decisionlog.KindRegistration:
			assert.Equal(t, topology.StageRegistration, r.Stage)
			assert.Len(t, r.Input.Workers, 2)
			assert.Equal(t, first.Verdict.Digest, r.Digest)
		case decisionlog.KindAdmission:
			assert.Equal(t, first.Verdict.Digest, r.Digest)
			fallthrough
		default:
			assert.Equal(t, first.AttemptID, r.AttemptID)
			assert.Contains(t, string(r.Result), `"outcome":"`+admission.Outcome+`"`)
		}
	}
	assert.Equal(t, []string{decisionlog.KindRegistration, decisionlog.KindAdmission, decisionlog.KindCore}, kinds)
}
