package api

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestMetricsOfAttempts(t *testing.T) {
	m := meet(t, nil)
	m.admitted(t)
	r := worker(0, "gpu-a")
	r.Facts.BootID = "" // the probe decides
	waiting := m.later(t, 1, "/v1/engines/engine-b/ranks/0?wait=30s", r)
	got := m.ask(t, http.MethodGet, "/metrics", nil).text
	assert.Contains(t, got, "\ntiergate_attempts_open 1\n")
	assert.Contains(t, got, "\ntiergate_workers_waiting 1\n")
	m.ask(t, http.MethodDelete, "/v1/engines/engine-b/attempts/1", nil)
	<-waiting
	got = m.ask(t, http.MethodGet, "/metrics", nil).text
	for _, want := range []string{
		`tiergate_admission_seconds_count 1`,
		`tiergate_admissions_total{code="",outcome="allow"} 1`,
		`tiergate_attempts_open 0`,
		`tiergate_attempts_total{end="admission"} 1`,
		`tiergate_attempts_total{end="revoked"} 1`,
		`tiergate_attempts_total{end="timed_out"} 0`,
		`tiergate_check_outcomes_total{check="tiering.node_local",enforcement="deny",outcome="pass"} 1`,
		`tiergate_decisions_total{outcome="allow"} 1`,
		`tiergate_disagreements_total 0`,
		`tiergate_http_requests_total{code="200",method="PUT",route="/v1/engines/:engine/ranks/:rank"} 2`,
		`tiergate_http_requests_total{code="409",method="PUT",route="/v1/engines/:engine/ranks/:rank"} 1`,
		`tiergate_queue_rejections_total{reason="waiting"} 0`,
		`tiergate_verdict_seconds_count 1`,
		`tiergate_workers_waiting 0`,
	} {
		assert.Contains(t, got, "\n"+want+"\n")
	}
}

// Ranks on one machine by their facts that do not find each other's memory: that is counted, whoever is right.
func TestDisagreementsAreCounted(t *testing.T) {
	m := meet(t, nil)
	first, second := m.gathered(t)
	probe := found(1, second)
	probe.Answers[0] = v1.ProbeAnswer{Kind: "tp", Outcome: v1.NotShared, Error: &v1.LocalFail{Errno: "ENOENT", Detail: "no such file"}}
	early := m.later(t, 1, probePath(1, 1), probe)
	got := m.ask(t, http.MethodPut, probePath(1, 0), found(0, first)).progress(t, http.StatusOK).Admission
	assert.Equal(t, v1.Reject, got.Outcome)
	assert.Equal(t, got.Message, (<-early).progress(t, http.StatusOK).Admission.Message)
	text := m.ask(t, http.MethodGet, "/metrics", nil).text
	assert.Contains(t, text, "\ntiergate_disagreements_total 1\n")
	assert.Contains(t, text, "\n"+`tiergate_admissions_total{code="`+got.Code+`",outcome="reject"} 1`+"\n")
}

// A policy that fails admits nobody, and every rank is told what it did.
func TestEnginesThatCannotBeJudged(t *testing.T) {
	m := meetWith(t, options(hostile(), nil))
	const path = "/v1/engines/builtin/ranks/"
	early := m.later(t, 1, path+"0?wait=30s", worker(0, "gpu-a"))
	second := m.ask(t, http.MethodPut, path+"1?wait=30s", worker(1, "gpu-a")).progress(t, http.StatusOK).Admission
	require.NotNil(t, second)
	assert.Equal(t, v1.Reject, second.Outcome)
	assert.Equal(t, v1.CodeEvaluationBuiltin, second.Code)
	assert.Equal(t, "evaluation_builtin: no verdict on engine builtin: site/hostile.rego:20: builtin function failed in "+
		"data.tiergate.checks.site.hostile.violations: arith_divide refused its arguments", second.Message)
	assert.Equal(t, second.Message, (<-early).progress(t, http.StatusOK).Admission.Message)
}

// A wait that ended without an answer is for debugging only; everything else of a worker is one line.
func TestLogOfWorkers(t *testing.T) {
	var log bytes.Buffer
	opts := options(shipped(), nil)
	opts.Logger = logTo(&log, slog.LevelDebug)
	m := meetWith(t, opts)
	m.ask(t, http.MethodPut, engineA+"/ranks/0", worker(0, "gpu-a")).progress(t, http.StatusAccepted)
	m.ask(t, http.MethodPut, engineA+"/ranks/1?wait=30s", worker(1, "gpu-a")).progress(t, http.StatusOK)
	m.ask(t, http.MethodDelete, engineA+"/attempts/1", nil)
	m.ask(t, http.MethodPut, engineA+"/ranks/1", worker(1, "gpu-a")).problem(t, http.StatusConflict, v1.EndRevoked)
	m.stop()
	require.NoError(t, <-m.ended)

	var lines []map[string]any
	for line := range bytes.Lines(log.Bytes()) {
		var got map[string]any
		require.NoError(t, json.Unmarshal(line, &got))
		if got["msg"] != "request" {
			continue
		}
		for _, varies := range []string{"id", "us", "received", "sent", "msg"} {
			delete(got, varies)
		}
		lines = append(lines, got)
	}
	const route = "/v1/engines/:engine/ranks/:rank"
	line := func(level, method, route string, status int, more map[string]any) map[string]any {
		more["level"], more["method"], more["route"], more["status"] = level, method, route, float64(status)
		more["engine"], more["attempt"] = "engine-a", 1.0
		return more
	}
	assert.Equal(t, []map[string]any{
		line("DEBUG", "PUT", route, 202, map[string]any{"rank": 0.0}),
		line("INFO", "PUT", route, 200, map[string]any{"rank": 1.0, "outcome": "allow"}),
		line("INFO", "DELETE", "/v1/engines/:engine/attempts/:attempt", 200, map[string]any{}),
		line("INFO", "PUT", route, 409, map[string]any{"rank": 1.0, "code": "revoked"}),
	}, lines)
}
