package api

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/config"
)

// stream is an open stream of events.
type stream struct {
	*bufio.Scanner
	leave context.CancelFunc
}

func (m *meeting) watch(t testing.TB, path string) *stream {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://tiergate"+path+"?watch", nil)
	require.NoError(t, err)
	response, err := m.client.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	assert.Equal(t, "no-store", response.Header.Get("Cache-Control"))
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return &stream{lines, leave}
}

// next reads an event, and leaves out comments.
func (s *stream) next(t testing.TB, name string, into any) {
	t.Helper()
	for s.Scan() {
		if event, is := strings.CutPrefix(s.Text(), "event: "); is {
			assert.Equal(t, name, event)
			require.True(t, s.Scan())
			data, is := strings.CutPrefix(s.Text(), "data: ")
			require.True(t, is, s.Text())
			require.NoError(t, json.Unmarshal([]byte(data), into))
			return
		}
	}
	require.FailNow(t, "the stream ended", "%v", s.Err())
}

func TestWatch(t *testing.T) {
	m := meet(t, nil)
	m.ask(t, http.MethodPut, engineA+"/ranks/0", worker(0, "gpu-a")).progress(t, http.StatusAccepted)
	attempt, engine, all := m.watch(t, engineA+"/attempts/1"), m.watch(t, engineA), m.watch(t, "/v1/engines")

	var view v1.AttemptView
	attempt.next(t, "attempt", &view)
	assert.Equal(t, []int64{1}, view.Missing)
	var engineView v1.EngineView
	engine.next(t, "engine", &engineView)
	assert.Equal(t, v1.PhaseReport, engineView.Attempts[0].Phase)
	var engines v1.Engines
	all.next(t, "engines", &engines)
	assert.Len(t, engines.Engines, 1)

	m.admitted(t)
	for view.Admission == nil {
		view = v1.AttemptView{}
		attempt.next(t, "attempt", &view)
	}
	assert.Equal(t, v1.Allow, view.Admission.Outcome)
	for engineView.Attempts[0].End == nil {
		engineView = v1.EngineView{}
		engine.next(t, "engine", &engineView)
	}
	m.ask(t, http.MethodPut, "/v1/engines/engine-b/ranks/0", worker(0, "gpu-a")).progress(t, http.StatusAccepted)
	for len(engines.Engines) < 2 {
		all.next(t, "engines", &engines)
	}

	all.leave()
	await(t, func() bool { return m.watching.load() == 2 })
	m.stop()
	for _, s := range []*stream{attempt, engine} {
		var p v1.Problem
		for p.Code == "" {
			require.True(t, s.Scan())
			if s.Text() == "event: problem" {
				require.True(t, s.Scan())
				require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(s.Text(), "data: ")), &p))
			}
		}
		assert.Equal(t, v1.CodeShuttingDown, p.Code)
		for s.Scan() {
			assert.Empty(t, s.Text())
		}
		assert.NoError(t, s.Err(), "the stream ends as a stream should")
	}
}

// Nothing happens, and the stream says so.
func TestHeartbeat(t *testing.T) {
	m := meet(t, nil)
	m.heartbeat = time.Millisecond
	s := m.watch(t, "/v1/engines")
	for comments := 0; comments < 3; {
		require.True(t, s.Scan())
		if strings.HasPrefix(s.Text(), ":") {
			comments++
		}
	}
}

// Many changes at once are few events.
func TestChangesAreCoalesced(t *testing.T) {
	m := meet(t, nil)
	s := m.watch(t, "/v1/engines")
	for i := range 50 {
		r := worker(0, "gpu-a")
		r.WorldSize = 64
		m.ask(t, http.MethodPut, engineA+"/ranks/"+string(encode(i)), withIncarnation(r, int64(i))).progress(t, http.StatusAccepted)
	}
	events := 0
	for engines := (v1.Engines{}); len(engines.Engines) == 0 || engines.Engines[0].Reported < 50; events++ {
		engines = v1.Engines{}
		s.next(t, "engines", &engines)
	}
	assert.Less(t, events, 25)
}

func withIncarnation(r *v1.Report, n int64) *v1.Report {
	r.Incarnation = incarnation(n)
	return r
}

// A journal that is lost takes the attempts with it, and streams end rather than show what may be wrong.
func TestWatchEndsWithTheEngine(t *testing.T) {
	m := meet(t, nil)
	m.ask(t, http.MethodPut, engineA+"/ranks/0", worker(0, "gpu-a")).progress(t, http.StatusAccepted)
	s := m.watch(t, engineA)
	var view v1.EngineView
	s.next(t, "engine", &view)
	m.journal.lose(true)
	var p v1.Problem
	s.next(t, "problem", &p)
	assert.Equal(t, v1.CodeUnknownEngine, p.Code)
	await(t, func() bool { return m.watching.load() == 0 })
	m.journal.lose(false)
}

// A watcher that does not read is given up, with all that is held for it.
func TestWatchersThatDoNotRead(t *testing.T) {
	m := meet(t, func(c *config.Serve) {
		c.ReadTimeout, c.DecisionTimeout, c.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond, 150*time.Millisecond
	})
	m.heartbeat = time.Microsecond
	conn, err := m.dial(t.Context(), "", "")
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /v1/engines?watch HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	await(t, func() bool { return m.watching.load() == 1 })
	await(t, func() bool { return m.watching.load() == 0 }) // after the socket's buffers were full of heartbeats
	_, bytes := m.queue.load()
	assert.Zero(t, bytes)
}
