package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/tracing"
)

// collector takes OTLP's JSON and remembers the spans by name.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	spans  map[string]map[string]any
	status int
}

func collect(t *testing.T) *collector {
	c := &collector{spans: map[string]map[string]any{}, status: http.StatusOK}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		assert.Equal(t, "/v1/traces", r.URL.Path)
		assert.Equal(t, "application/json", r.Header.Get("Content-Type"))
		var sent struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []map[string]any }
			}
		}
		assert.NoError(t, json.Unmarshal(text, &sent))
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, span := range sent.ResourceSpans[0].ScopeSpans[0].Spans {
			c.spans[span["name"].(string)] = span
		}
		w.WriteHeader(c.status)
	}))
	t.Cleanup(c.Close)
	return c
}

// attribute is the value of an attribute of a span.
func attribute(span map[string]any, key string) any {
	list, _ := span["attributes"].([]any)
	for _, entry := range list {
		if a := entry.(map[string]any); a["key"] == key {
			for _, value := range a["value"].(map[string]any) {
				return value
			}
		}
	}
	return nil
}

const traceID, callerSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

func TestRequestsContinueTheCallersTrace(t *testing.T) {
	c := collect(t)
	var log bytes.Buffer
	tracer, err := tracing.Open(tracing.Options{URL: c.URL, Ratio: 1e-9, Version: "v"})
	require.NoError(t, err)
	opts := options(shipped(), nil)
	opts.Traces, opts.Logger = tracer, logTo(&log, slog.LevelInfo)
	s, err := New(opts)
	require.NoError(t, err)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/validate", strings.NewReader(tiered("engine-a", "gpu-a", "gpu-b")))
	request.Header.Set("Traceparent", "00-"+traceID+"-"+callerSpan+"-01")
	s.Handler().ServeHTTP(httptest.NewRecorder(), request)
	answered(s, http.MethodPost, "/v1/validate", tiered("engine-b", "gpu-a", "gpu-b"))
	answered(s, http.MethodGet, "/health", "")
	require.NoError(t, tracer.Close(t.Context()))

	root := c.spans["POST /v1/validate"]
	require.NotNil(t, root)
	assert.Len(t, c.spans, 4, "a request of nobody's trace begins one rarely, and health checks never")
	assert.Equal(t, []any{traceID, callerSpan, 2.0}, []any{root["traceId"], root["parentSpanId"], root["kind"]})
	for key, want := range map[string]any{
		"http.route": "/v1/validate", "http.response.status_code": "200", "tiergate.engine": "engine-a", "tiergate.outcome": "deny",
	} {
		assert.Equal(t, want, attribute(root, key), key)
	}
	for _, name := range []string{"queue", "decode", "evaluate"} {
		assert.Equal(t, root["spanId"], c.spans[name]["parentSpanId"], name)
	}
	first, second, _ := strings.Cut(log.String(), "\n")
	assert.Contains(t, first, `"trace_id":"`+traceID+`"`)
	assert.NotContains(t, second, "trace_id")
}

// A collector that is dead or hangs costs traces, never an answer or the end.
func TestACollectorInTrouble(t *testing.T) {
	hung := make(chan struct{})
	for name, handler := range map[string]http.HandlerFunc{
		"hangs":   func(http.ResponseWriter, *http.Request) { <-hung },
		"refuses": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		server := httptest.NewServer(handler)
		var log bytes.Buffer
		tracer, err := tracing.Open(tracing.Options{URL: strings.Replace(server.URL, "http://", "http://u:hunter2@", 1), Ratio: 1, Logger: logTo(&log, slog.LevelInfo)})
		require.NoError(t, err)
		opts := options(shipped(), nil)
		opts.Traces = tracer
		s, err := New(opts)
		require.NoError(t, err)
		for range 5000 { // more than the library holds
			require.Equal(t, http.StatusOK, answered(s, http.MethodPost, "/v1/validate", tiered("engine-a", "gpu-a", "gpu-a")).Code)
		}
		if name == "hangs" {
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			require.Error(t, tracer.Close(ended), "the end does not wait for it")
			close(hung)
		} else {
			require.NoError(t, tracer.Close(t.Context()))
			assert.Equal(t, 1, strings.Count(log.String(), "traces cannot be sent"), "once, not for each batch")
		}
		assert.NotContains(t, log.String(), "hunter2")
		server.Close()
	}
	_, err := tracing.Open(tracing.Options{URL: "otel:4317"})
	assert.EqualError(t, err, "traces go to an http(s) URL, e.g. http://otel:4318")
}
