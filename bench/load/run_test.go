package load

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serve starts a handler and returns a request to it.
func serve(t *testing.T, handler http.HandlerFunc) Request {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return Request{Addr: server.Listener.Addr().String(), Path: "/v1/validate", Body: []byte(`{"engine":{}}`)}
}

func TestFetch(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 10_000)
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		body    string
		err     string
	}{
		{"with its length", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "yes") }, "yes", ""},
		{"without body", func(http.ResponseWriter, *http.Request) {}, "", ""},
		{"in chunks", func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				io.WriteString(w, long)
				w.(http.Flusher).Flush()
			}
		}, long + long + long, ""},
		{
			"refused", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "full", http.StatusServiceUnavailable) },
			"", `status line "HTTP/1.1 503 Service Unavailable", want 200`,
		},
		{
			"without keep-alive", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") },
			"", "the server closes connections",
		},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "short")
			panic(http.ErrAbortHandler)
		}, "", "read response: EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, err := Fetch(context.Background(), serve(t, c.handler))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.body, string(body))
		})
	}
}

func TestRequestReachesTheHandlerWhole(t *testing.T) {
	r := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		io.WriteString(w, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type")+" "+string(body))
	})
	body, err := Fetch(context.Background(), r)
	require.NoError(t, err)
	assert.Equal(t, `POST /v1/validate application/json {"engine":{}}`, string(body))
}

func TestRunCountsWhatWasAnswered(t *testing.T) {
	var served atomic.Int64
	r := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		io.WriteString(w, "yes")
	})
	result, err := Run(context.Background(), r, Plan{Connections: 2, Duration: 50 * time.Millisecond})
	require.NoError(t, err)
	counted := result.Rate * 0.05
	assert.Positive(t, counted)
	assert.LessOrEqual(t, counted, float64(served.Load())+0.5)
	assert.Positive(t, result.P50)
	assert.GreaterOrEqual(t, result.P99, result.P50)
}

func TestRunEndsAtTheFirstFailure(t *testing.T) {
	var served atomic.Int64
	r := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if served.Add(1) == 3 {
			http.Error(w, "full", http.StatusServiceUnavailable)
		}
	})
	_, err := Run(context.Background(), r, Plan{Connections: 1, Duration: time.Hour})
	require.ErrorContains(t, err, `status line "HTTP/1.1 503 Service Unavailable", want 200`)
	assert.EqualValues(t, 3, served.Load())
}

func TestPercentile(t *testing.T) {
	ten := []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, c := range []struct {
		values []time.Duration
		p      int
		want   time.Duration
	}{
		{nil, 99, 0}, {ten[:1], 1, 1}, {ten[:1], 99, 1}, {ten, 50, 5}, {ten, 90, 9}, {ten, 91, 10}, {ten, 99, 10},
	} {
		assert.Equal(t, c.want, percentile(c.values, c.p), "%d of %v", c.p, c.values)
	}
}

// TestVary: with Vary no two requests are equal, over all connections.
func TestVary(t *testing.T) {
	var seen sync.Map
	var repeated atomic.Int64
	r := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if _, again := seen.LoadOrStore(string(body), true); again {
			repeated.Add(1)
		}
		io.WriteString(w, "ok")
	})
	r.Body, r.Vary = []byte(`{"id":"engine-0000000"}`), "0000000"
	_, err := Run(context.Background(), r, Plan{Connections: 3, Duration: 50 * time.Millisecond})
	require.NoError(t, err)
	assert.Zero(t, repeated.Load())

	r.Vary = "9999"
	_, err = Run(context.Background(), r, Plan{Connections: 1, Duration: time.Millisecond})
	require.ErrorContains(t, err, `the request has no "9999" to vary`)
}
