package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/config"
)

// matches checks an answer against the description.
func (s said) matches(t testing.TB, d *description, method, path string) said {
	t.Helper()
	mediaType, _, _ := strings.Cut(s.Header.Get("Content-Type"), ";")
	schema, known := d.answer(t, method, path, s.StatusCode).Content[mediaType]
	require.True(t, known, "%s %s answers with %q", method, path, mediaType)
	var document any
	require.NoError(t, yaml.Unmarshal([]byte(s.text), &document), "JSON is YAML")
	d.check(t, schema.Schema, document)
	return s
}

// Two ranks come up by the protocol, and every answer on the way is as the description says.
func TestTwoRanksAreAdmitted(t *testing.T) {
	const reportRoute, attemptRoute = "/v1/engines/{engine}/ranks/{rank}", "/v1/engines/{engine}/attempts/{attempt}"
	m, d := meet(t, nil), describe(t)
	put := func(route, path string, body any) said {
		t.Helper()
		return m.ask(t, http.MethodPut, path, body).matches(t, d, http.MethodPut, route)
	}
	waiting := put(reportRoute, engineA+"/ranks/0", worker(0, "gpu-a")).progress(t, http.StatusAccepted)
	assert.Equal(t, v1.PhaseReport, waiting.Phase)
	assert.Equal(t, []int64{1}, waiting.Missing)
	assert.Positive(t, waiting.RemainingMS)

	first, second := m.gathered(t)
	assert.Equal(t, first.Verdict, second.Verdict)
	assert.Equal(t, []v1.Group{{Kind: "tp", Ranks: []int64{0, 1}}}, first.Verdict.Probe)
	assert.Equal(t, []v1.OpenSegment{{Kind: "tp", Leader: 0, Name: "tiergate-probe-a"}}, second.Segments)

	probed := put(attemptRoute+"/ranks/{rank}/probe", strings.TrimSuffix(probePath(1, 0), "?wait=30s"), found(0, first))
	assert.Equal(t, []int64{1}, probed.progress(t, http.StatusAccepted).Missing)
	core := &v1.CoreReport{Protocol: v1.Protocol, AttemptID: first.AttemptID, Incarnation: incarnation(9), Facts: worker(0, "gpu-a").Facts}
	early := put(attemptRoute+"/core", engineA+"/attempts/1/core", core)
	assert.Equal(t, v1.PhaseProbe, early.progress(t, http.StatusAccepted).Phase)

	admission := put(attemptRoute+"/ranks/{rank}/probe", probePath(1, 1), found(1, second)).progress(t, http.StatusOK).Admission
	assert.Equal(t, v1.Allow, admission.Outcome, admission.Message)
	assert.Equal(t, incarnation(1), admission.Rank.Incarnation)
	again := put(reportRoute, engineA+"/ranks/1", worker(1, "gpu-a")).progress(t, http.StatusOK)
	assert.Equal(t, admission, again.Admission, "a repeat gets the same")
	assert.Contains(t, put(attemptRoute+"/core", engineA+"/attempts/1/core", core).text, `"outcome":"allow"`)

	for path, route := range map[string]string{
		"/v1/engines?pretty": "/v1/engines", engineA: "/v1/engines/{engine}", engineA + "/attempts/1": attemptRoute,
	} {
		seen := m.ask(t, http.MethodGet, path, nil).matches(t, d, http.MethodGet, route)
		require.Equal(t, http.StatusOK, seen.StatusCode, seen.text)
		assert.Contains(t, seen.text, "engine-a")
		assert.NotContains(t, seen.text, fmt.Sprintf("%x", nonceOf(0)), "nonces are told to nobody")
	}
}

func TestOtherNodesAreRejected(t *testing.T) {
	m := meet(t, nil)
	early := m.later(t, 1, engineA+"/ranks/0?wait=30s", worker(0, "gpu-a"))
	second := m.ask(t, http.MethodPut, engineA+"/ranks/1?wait=30s", worker(1, "gpu-b")).progress(t, http.StatusOK)
	first := (<-early).progress(t, http.StatusOK)
	probe := found(1, second)
	probe.Answers[0] = v1.ProbeAnswer{Kind: "tp", Outcome: v1.NotShared, Error: &v1.LocalFail{Errno: "ENOENT", Detail: "no such file"}}
	other := m.later(t, 1, probePath(1, 0), found(0, first))
	got := m.ask(t, http.MethodPut, probePath(1, 1), probe).progress(t, http.StatusOK).Admission
	assert.Equal(t, v1.Reject, got.Outcome)
	assert.Contains(t, got.Message, "TieringOffloadingSpec secondary tiers are not supported on engines whose workers span several nodes")
	assert.Equal(t, got.Message, (<-other).progress(t, http.StatusOK).Admission.Message)
}

// The name of an engine is whatever its launcher calls it.
func TestEngineNames(t *testing.T) {
	m := meet(t, nil)
	for _, name := range []string{
		"lws/group 0", "100%", "a%2Fb", "größe", "a/attempts/1", "..", "10.0.0.1:29500.dp0", strings.Repeat("é", 128),
	} {
		path := "/v1/engines/" + strings.ReplaceAll(escaped(name), "..", "%2E%2E")
		m.ask(t, http.MethodPut, path+"/ranks/0", worker(0, "gpu-a")).progress(t, http.StatusAccepted)
		_, err := m.rendezvous.Engine(keyOf(name))
		assert.NoError(t, err, name)
	}
}

// A newer minor version may say more than is understood.
func TestNewerReports(t *testing.T) {
	m := meet(t, nil)
	newer := strings.Replace(string(encode(worker(0, "gpu-a"))), `"protocol":"1.0"`, `"protocol":"1.7","mood":"good"`, 1)
	p := m.ask(t, http.MethodPut, engineA+"/ranks/0", newer).progress(t, http.StatusAccepted)
	assert.Equal(t, []string{"/mood"}, p.Ignored)
}

// The exact answers to what is refused.
func TestProblemsOfWorkers(t *testing.T) {
	m, d := meet(t, nil), describe(t)
	const put, get, reports = http.MethodPut, http.MethodGet, engineA + "/ranks/0"
	changed := func(from, to string) string { return strings.Replace(string(encode(worker(0, "gpu-a"))), from, to, 1) }
	stranger := &v1.Probe{Protocol: v1.Protocol, AttemptID: "another", Incarnation: incarnation(0)}
	for _, test := range []struct {
		name, method, path string
		body               any
	}{
		{"wait_too_long", put, reports + "?wait=61s", worker(0, "a")},
		{"wait_negative", put, reports + "?wait=-1s", worker(0, "a")},
		{"wait_without_unit", put, reports + "?wait=30", worker(0, "a")},
		{"rank_no_number", put, engineA + "/ranks/first", worker(0, "a")},
		{"rank_negative", put, engineA + "/ranks/-1", worker(0, "a")},
		{"attempt_zero", get, engineA + "/attempts/0", nil},
		{"engine_too_long", put, "/v1/engines/" + strings.Repeat("a", 257) + "/ranks/0", worker(0, "a")},
		{"engine_not_printable", put, "/v1/engines/a%0Ab/ranks/0", worker(0, "a")},
		{"engine_not_utf8", put, "/v1/engines/%FF/ranks/0", worker(0, "a")},
		{"watch_no_switch", get, "/v1/engines?watch=often", nil},
		{"protocol", put, reports, `{"protocol": "2.0", "everything": "else"}`},
		{"protocol_missing", put, reports, `{"world_size": 2}`},
		{"protocol_malformed", put, reports, `{"protocol": "one"}`},
		{"report_empty", put, reports, ""},
		{"report_unknown_field", put, reports, changed(`"world_size"`, `"wold_size"`)},
		{"report_duplicate_key", put, reports, changed(`"world_size":2`, `"world_size":2,"world_size":3`)},
		{"report_too_large", put, reports, changed(`"node":"`, `"node":"`+strings.Repeat("a", 448<<10))},
		{"invalid_report", put, engineA + "/ranks/7", worker(7, "a")},
		{"no_shared_rendezvous", put, reports, changed(`"executor"`, `"nnodes":2,"executor"`)},
		{"attempt_gone", put, probePath(1, 0), stranger},
		{"attempt_gone_core", put, engineA + "/attempts/1/core", &v1.CoreReport{Protocol: "1.0", Incarnation: incarnation(0)}},
		{"attempt_gone_revoke", http.MethodDelete, engineA + "/attempts/1", nil},
		{"unknown_engine", get, engineA, nil},
		{"unknown_engine_watch", get, engineA + "?watch", nil},
		{"unknown_engine_attempt", get, engineA + "/attempts/1", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := m.ask(t, test.method, test.path, test.body)
			text := shown(got.Response, got.text)
			if upgrade := got.Header.Get("Upgrade"); upgrade != "" {
				text = "Upgrade: " + upgrade + "\n" + text
			}
			golden(t, "problems/workers/"+test.name+".golden", text)
			p := new(v1.Problem)
			require.NoError(t, yaml.Unmarshal([]byte(got.text), p))
			var document any
			require.NoError(t, yaml.Unmarshal([]byte(got.text), &document))
			d.check(t, map[string]any{"$ref": "#/components/schemas/Problem"}, document)
		})
	}
	assert.Zero(t, m.waiting.load())
	places, bytes := m.queue.load()
	assert.Zero(t, places)
	assert.Zero(t, bytes)
}

// Whoever asks after the end is told the end.
func TestEnds(t *testing.T) {
	t.Run("revoked", func(t *testing.T) {
		m, d := meet(t, nil), describe(t)
		waiting := m.later(t, 1, engineA+"/ranks/0?wait=30s", worker(0, "gpu-a"))
		revoked := m.ask(t, http.MethodDelete, engineA+"/attempts/1", &v1.Revocation{Reason: "gpu-a is drained"})
		revoked.matches(t, d, http.MethodDelete, "/v1/engines/{engine}/attempts/{attempt}")
		assert.Equal(t, http.StatusOK, revoked.StatusCode)
		told := (<-waiting).matches(t, d, http.MethodPut, "/v1/engines/{engine}/ranks/{rank}").problem(t, 409, v1.EndRevoked)
		assert.Contains(t, told.End.Message, "gpu-a is drained")
		m.ask(t, http.MethodDelete, engineA+"/attempts/1", nil).problem(t, 409, v1.EndRevoked)
	})
	t.Run("timed_out", func(t *testing.T) {
		m, r := meet(t, nil), worker(0, "gpu-a")
		r.DeadlineMS = 1000
		end := m.ask(t, http.MethodPut, engineA+"/ranks/0?wait=30s", r).problem(t, 409, v1.EndTimedOut).End
		assert.Equal(t, []int64{1}, end.Ranks)
	})
	t.Run("duplicate_rank", func(t *testing.T) {
		m, twin := meet(t, nil), worker(0, "gpu-a")
		twin.Incarnation = incarnation(8)
		waiting := m.later(t, 1, engineA+"/ranks/0?wait=30s", worker(0, "gpu-a"))
		m.ask(t, http.MethodPut, engineA+"/ranks/0?wait=30s", twin).problem(t, 409, v1.EndDuplicate)
		assert.Equal(t, []int64{0}, (<-waiting).problem(t, 409, v1.EndDuplicate).End.Ranks)
	})
	t.Run("admission", func(t *testing.T) {
		m := meet(t, nil)
		probe := found(0, m.admitted(t))
		probe.Incarnation = incarnation(8)
		m.ask(t, http.MethodPut, probePath(1, 0), probe).problem(t, 409, v1.EndAdmission)
	})
}

// A wait outlasts the timeouts of reading and writing.
func TestWaitsOutlastTimeouts(t *testing.T) {
	m := meet(t, func(c *config.Serve) {
		c.ReadTimeout, c.DecisionTimeout, c.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond, 250*time.Millisecond
	})
	for range 2 { // the connection stays usable
		m.ask(t, http.MethodPut, engineA+"/ranks/0?wait=600ms", worker(0, "gpu-a")).progress(t, http.StatusAccepted)
	}
	assert.Zero(t, m.waiting.load())
}

func TestTooManyWait(t *testing.T) {
	m := meet(t, func(c *config.Serve) { c.MaxWaiting = 1 })
	ctx, leave := context.WithCancel(t.Context())
	var gone sync.WaitGroup
	gone.Go(func() {
		_, err := m.send(ctx, http.MethodPut, engineA+"/ranks/0?wait=60s", worker(0, "gpu-a"))
		assert.ErrorIs(t, err, context.Canceled)
	})
	await(t, func() bool { return m.waiting.load() == 1 })
	refused := m.ask(t, http.MethodPut, "/v1/engines/engine-b/ranks/1", worker(1, "gpu-a"))
	assert.Equal(t, "1 clients are waiting, which is the most; try again later", refused.problem(t, 503, v1.CodeOverloaded).Detail)
	assert.Equal(t, "1", refused.Header.Get("Retry-After"))
	leave() // a client that is gone waits no more
	gone.Wait()
	await(t, func() bool { return m.waiting.load() == 0 })
	_, waiting := m.rendezvous.Load()
	assert.Zero(t, waiting)
	m.ask(t, http.MethodPut, "/v1/engines/engine-b/ranks/1", worker(1, "gpu-a")).progress(t, http.StatusAccepted)
}

// A worker that is slow to report holds up nobody, not even where only one request may be in work.
func TestSlowReports(t *testing.T) {
	m := meet(t, func(c *config.Serve) { c.MaxRequests = 1 })
	conn, err := m.dial(t.Context(), "", "")
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "PUT "+engineA+"/ranks/0 HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n{")
	require.NoError(t, err)
	await(t, func() bool { return m.waiting.load() == 1 })
	assert.Equal(t, v1.Allow, m.admitted(t).Admission.Outcome)
}

// All who wait when the service is told to stop learn it at once.
func TestShutdownWhileWorkersWait(t *testing.T) {
	const workers = 1000
	m := meet(t, func(c *config.Serve) { c.ShutdownTimeout = time.Minute })
	var told sync.WaitGroup
	for i := range workers {
		told.Go(func() {
			path := fmt.Sprintf("/v1/engines/engine-%d/ranks/0?wait=60s", i)
			if answer, err := m.send(t.Context(), http.MethodPut, path, worker(0, "gpu-a")); assert.NoError(t, err) {
				assert.Equal(t, http.StatusServiceUnavailable, answer.StatusCode, answer.text)
				assert.Contains(t, answer.text, `"code":"shutting_down"`)
			}
		})
	}
	await(t, func() bool {
		_, waiting := m.rendezvous.Load()
		return waiting == workers
	})
	start := time.Now()
	m.stop()
	told.Wait()
	require.NoError(t, <-m.ended)
	assert.Less(t, time.Since(start), 30*time.Second, "nobody waited for the timeout")
}

// While the state is not at hand, nobody is told anything that may be wrong.
func TestLostJournal(t *testing.T) {
	m := meet(t, nil)
	m.ask(t, http.MethodPut, engineA+"/ranks/0", worker(0, "gpu-a")).progress(t, http.StatusAccepted)
	m.journal.lose(true)
	await(t, func() bool { return !m.rendezvous.Ready() })
	for _, path := range []string{"/health/ready", "/health", "/v1/engines", engineA} {
		m.ask(t, http.MethodGet, path, nil).problem(t, 503, v1.CodeStore)
	}
	m.ask(t, http.MethodPut, engineA+"/ranks/0", worker(0, "gpu-a")).problem(t, 503, v1.CodeStore)
	assert.Equal(t, http.StatusOK, m.ask(t, http.MethodGet, "/health/live", nil).StatusCode)
	m.journal.lose(false)
	await(t, m.rendezvous.Ready)
	m.ask(t, http.MethodPut, engineA+"/ranks/0", worker(0, "gpu-a")).progress(t, http.StatusAccepted)
}
