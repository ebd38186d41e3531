package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/config"
)

// expecting is the head of a request that sends its body when it is told to.
func expecting(length int) string {
	return fmt.Sprintf("POST /v1/validate HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"+
		"Content-Length: %d\r\n\r\n", length)
}

// holdPlace sends a request whose body is still to come, and returns once the server waits for the body: it says so
// with 100 Continue, after it gave the request its place.
func (r *running) holdPlace(t *testing.T, body string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn := r.raw(t, expecting(len(body)))
	reader := bufio.NewReader(conn)
	line, err := reader.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 100 Continue\r\n", line)
	_, err = reader.ReadString('\n')
	require.NoError(t, err)
	return conn, reader
}

func finish(t *testing.T, conn net.Conn, reader *bufio.Reader, body string) (*http.Response, string) {
	t.Helper()
	_, err := io.WriteString(conn, body)
	require.NoError(t, err)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(text)
}

func TestFullQueueRefusesBeforeTheBody(t *testing.T) {
	r := start(t, options(shipped(), func(c *config.Serve) { c.MaxRequests = 1 }))
	launch := tiered("engine-a", "gpu-a", "gpu-b")
	conn, reader := r.holdPlace(t, launch)

	response, body := answerOn(t, r.raw(t, expecting(100)))
	golden(t, "problems/overloaded.golden", shown(response, body))
	healthy, _ := ask(t, http.MethodGet, r.url+"/health", "", "")
	assert.Equal(t, http.StatusOK, healthy.StatusCode, "health needs no place")

	response, body = finish(t, conn, reader, launch)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "deny", verdictOf(t, body).Outcome)
	response, _ = ask(t, http.MethodPost, r.url+"/v1/validate", "", launch)
	assert.Equal(t, http.StatusOK, response.StatusCode, "the place is free again")
}

func TestBodiesBeyondTheBudgetAreRefused(t *testing.T) {
	r := start(t, options(shipped(), func(c *config.Serve) { c.MaxBody, c.MaxBodies = 4096, 4096 }))
	launch := tiered("engine-a", "gpu-a", "gpu-b") + strings.Repeat(" ", 2000)
	conn, reader := r.holdPlace(t, launch)
	response, body := ask(t, http.MethodPost, r.url+"/v1/validate", "", launch)
	golden(t, "problems/overloaded_bytes.golden", shown(response, body))
	response, _ = finish(t, conn, reader, launch)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	response, _ = ask(t, http.MethodPost, r.url+"/v1/validate", "", launch)
	assert.Equal(t, http.StatusOK, response.StatusCode)
}

// Requests under way get their answers; the service says on its diagnostic address that it takes no more.
func TestShutdownLetsRequestsFinish(t *testing.T) {
	r := start(t, options(shipped(), func(c *config.Serve) { c.DiagnosticAddr = "localhost:0" }))
	launch := tiered("engine-a", "gpu-a", "gpu-b")
	conn, reader := r.holdPlace(t, launch)
	r.stop()
	await(t, func() bool {
		response, _ := ask(t, http.MethodGet, r.URLs()[1]+"/health/ready", "", "")
		return response.StatusCode == http.StatusServiceUnavailable
	})
	await(t, func() bool {
		late, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err == nil {
			_ = late.Close()
		}
		return err != nil
	})
	response, body := finish(t, conn, reader, launch)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "deny", verdictOf(t, body).Outcome)
	require.NoError(t, <-r.ended)
}

// An evaluation that outlasts the shutdown timeout is stopped and says so.
func TestShutdownCutsOffEvaluations(t *testing.T) {
	s, err := New(options(hostile(), func(c *config.Serve) { c.ShutdownTimeout = time.Millisecond }))
	require.NoError(t, err)
	require.NoError(t, s.Listen())
	ctx, stop := context.WithCancel(t.Context())
	var response *http.Response
	var body string
	var asked sync.WaitGroup
	asked.Go(func() {
		response, body = ask(t, http.MethodPost, s.URLs()[0]+"/v1/validate", "", tiered("loop", "gpu-a", "gpu-a"))
	})
	asked.Go(func() {
		await(t, func() bool { return s.queue.working.Load() == 1 })
		stop()
	})
	require.EqualError(t, s.Serve(ctx), "shut down: 1 requests were still open after 1ms and were cut off")
	asked.Wait()
	golden(t, "problems/shutting_down_evaluation.golden", shown(response, body))
	http.DefaultClient.CloseIdleConnections()
}

// A client that never sends its body must not keep the service from ending.
func TestShutdownCutsOffBodies(t *testing.T) {
	s, err := New(options(shipped(), func(c *config.Serve) { c.ShutdownTimeout = time.Millisecond }))
	require.NoError(t, err)
	require.NoError(t, s.Listen())
	r := &running{Server: s, url: s.URLs()[0], ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(t.Context())
	go func() { r.ended <- s.Serve(ctx) }()
	r.holdPlace(t, "{}")
	stop()
	require.EqualError(t, <-r.ended, "shut down: 1 requests were still open after 1ms and were cut off")
}

func TestSlowHeaders(t *testing.T) {
	r := start(t, options(shipped(), func(c *config.Serve) { c.ReadHeaderTimeout = 50 * time.Millisecond }))
	conn := r.raw(t, "POST /v1/validate HTTP/1.1\r\nHo")
	text, err := io.ReadAll(conn)
	require.NoError(t, err, "the server closes the connection")
	assert.Contains(t, string(text), "HTTP/1.1 400 Bad Request\r\n", "the HTTP library refuses what it has so far")
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	r := start(t, options(shipped(), func(c *config.Serve) { c.IdleTimeout = 50 * time.Millisecond }))
	conn := r.raw(t, "GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n")
	response, _ := answerOn(t, conn)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	_, err := io.ReadAll(conn)
	require.NoError(t, err)
}

// A client that does not read its answer keeps a place until the write timeout, and no turn.
func TestAnswersThatAreNotRead(t *testing.T) {
	r := start(t, options(shipped(), func(c *config.Serve) {
		c.ReadTimeout, c.DecisionTimeout = 500*time.Millisecond, 500*time.Millisecond
		c.WriteTimeout = 1100 * time.Millisecond
	}))
	conn := r.raw(t, "")
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	var failed error
	for failed == nil { // Answers fill the socket's buffers until the server can write no more and gives up.
		_, failed = io.WriteString(conn, "GET /openapi.yaml HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	response, _ := ask(t, http.MethodGet, r.url+"/health", "", "")
	assert.Equal(t, http.StatusOK, response.StatusCode)
}

func TestHeadersThatAreTooLarge(t *testing.T) {
	r := start(t, options(shipped(), func(c *config.Serve) { c.MaxHeader = 1024 }))
	conn := r.raw(t, "GET /health HTTP/1.1\r\nHost: a\r\nX-A: "+strings.Repeat("a", 8192)+"\r\n\r\n")
	response, _ := answerOn(t, conn)
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, response.StatusCode)
	healthy, _ := ask(t, http.MethodGet, r.url+"/health", "", "")
	assert.Equal(t, http.StatusOK, healthy.StatusCode)
}

func TestConnectionsAreLimited(t *testing.T) {
	r := start(t, options(shipped(), func(c *config.Serve) { c.MaxConnections = 1 }))
	first := r.raw(t, "GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n")
	answerOn(t, first)
	second := r.raw(t, "GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, first.Close())
	response, _ := answerOn(t, second)
	assert.Equal(t, http.StatusOK, response.StatusCode, "the second is served once the first is closed")
}
