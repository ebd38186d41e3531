package api

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var varying = regexp.MustCompile(`"(us|sent|received)":\d+|"(revision|digest|stack)":"[^"]*"`)

// serveOnce has a server answer one request with a given id, without a network.
func serveOnce(t *testing.T, opts Options, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	s, err := New(opts)
	require.NoError(t, err)
	return answered(s, method, path, body)
}

func answered(s *Server, method, path, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.Header.Set("X-Request-Id", "id-1")
	recorder := httptest.NewRecorder()
	s.Handler().ServeHTTP(recorder, request)
	return recorder
}

func TestLogLines(t *testing.T) {
	prefix := func(level, method, route string, status int) string {
		return fmt.Sprintf(`{"level":"%s","msg":"request","id":"id-1","method":"%s","route":"%s","status":%d,`+
			`"us":0,"received":0,"sent":0`, level, method, route, status)
	}
	for _, test := range []struct{ method, path, body, want string }{
		{
			http.MethodPost, "/v1/validate", tiered("engine-a", "gpu-a", "gpu-b"),
			prefix("INFO", "POST", "/v1/validate", 200) +
				`,"engine":"engine-a","outcome":"deny","revision":"","digest":""}`,
		},
		{
			http.MethodPost, "/v1/data/acme/report/size",
			`{"input": ` + tiered(strings.Repeat("e", 200), "gpu-a", "gpu-b") + `}`,
			prefix("INFO", "POST", "/v1/data/*", 200) + `,"engine":"` + strings.Repeat("e", 128) + `..."}`,
		},
		{
			http.MethodPost, "/v1/validate", `{"engine": {"secret": "hunter2"}}`,
			prefix("INFO", "POST", "/v1/validate", 400) + `,"code":"unknown_field"}`,
		},
		{
			http.MethodPost, "/v1/validate", tiered("builtin", "gpu-a", "gpu-b"),
			prefix("ERROR", "POST", "/v1/validate", 500) + `,"engine":"builtin","code":"evaluation_builtin","error":"` +
				`site/hostile.rego:20: builtin function failed in data.tiergate.checks.site.hostile.violations: ` +
				`arith_divide refused its arguments"}`,
		},
		{http.MethodGet, "/nowhere", "", prefix("INFO", "GET", "unmatched", 404) + `,"code":"not_found"}`},
		{http.MethodGet, "/health", "", ""},
		{http.MethodGet, "/metrics", "", ""},
	} {
		var out bytes.Buffer
		opts := options(hostile(), nil)
		opts.Logger = logTo(&out, slog.LevelInfo)
		serveOnce(t, opts, test.method, test.path, test.body)
		assert.Equal(t, test.want, strings.TrimSpace(varying.ReplaceAllStringFunc(out.String(), func(s string) string {
			name, value, _ := strings.Cut(s, ":")
			return name + map[bool]string{true: `:""`, false: ":0"}[strings.HasPrefix(value, `"`)]
		})))
	}
}

func TestHealthIsLoggedForDebugging(t *testing.T) {
	var out bytes.Buffer
	opts := options(shipped(), nil)
	opts.Logger = logTo(&out, slog.LevelDebug)
	serveOnce(t, opts, http.MethodGet, "/health", "")
	assert.Contains(t, out.String(), `{"level":"DEBUG","msg":"request","id":"id-1","method":"GET","route":"/health",`)
}

// A handler that panics must cost its own request and nothing else.
func TestPanics(t *testing.T) {
	var out bytes.Buffer
	opts := options(shipped(), nil)
	opts.Logger = logTo(&out, slog.LevelInfo)
	s, err := New(opts)
	require.NoError(t, err)
	for _, rt := range s.routes {
		switch rt.path {
		case "/v1/policies":
			rt.handle = func(*exchange) error { panic("before") }
		case "/openapi.yaml":
			rt.handle = func(x *exchange) error {
				x.send(http.StatusOK, typeYAML, nil)
				panic("after")
			}
		}
	}
	recorder := answered(s, http.MethodGet, "/v1/policies", "")
	golden(t, "problems/internal.golden", shown(recorder.Result(), recorder.Body.String()))
	assert.PanicsWithValue(t, http.ErrAbortHandler, func() { answered(s, http.MethodGet, "/openapi.yaml", "") })
	assert.Equal(t, http.StatusOK, answered(s, http.MethodPost, "/v1/validate", tiered("e", "gpu-a", "gpu-a")).Code)
	const failed = `"msg":"handler failed","id":"id-1",`
	assert.Contains(t, out.String(), failed+`"route":"/v1/policies","panic":"before","stack":"goroutine `)
	assert.Contains(t, out.String(), failed+`"route":"/openapi.yaml","panic":"after","stack":"goroutine `)
	assert.Contains(t, out.String(), `"status":500,"us":`)
}
