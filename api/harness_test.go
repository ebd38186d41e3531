package api

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/config"
	"github.com/tiergate/tiergate/policy"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestMain ends with a look for goroutines that servers left behind.
func TestMain(m *testing.M) {
	code := m.Run()
	if leaked := leakedGoroutines(); code == 0 && leaked != "" {
		fmt.Fprintln(os.Stderr, "goroutines left behind:\n"+leaked)
		code = 1
	}
	os.Exit(code)
}

// leakedGoroutines gives goroutines of servers time to end that were told to, and returns the stacks of the rest.
func leakedGoroutines() string {
	var leaked []string
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		leaked = leaked[:0]
		for _, stack := range strings.Split(string(stacks), "\n\n") {
			if strings.Contains(stack, "net/http.(*") || strings.Contains(stack, "tiergate/api.(*") {
				leaked = append(leaked, stack)
			}
		}
		if len(leaked) == 0 {
			break
		}
	}
	return strings.Join(leaked, "\n\n")
}

// now keeps digests, and with them golden files, from changing with the day.
func now() time.Time { return time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC) }

// hostileRules fail in ways that the engine's id names.
var hostileRules = policy.Source{Name: "site", FS: os.DirFS(filepath.Join("testdata", "hostile"))}

// shipped decides by the rules that ship, hostile also by the ones in testdata.
var (
	shipped = sync.OnceValue(func() *policy.Engine { return newEngine(0) })
	hostile = sync.OnceValue(func() *policy.Engine {
		return newEngine(0, hostileRules)
	})
)

func newEngine(budget int64, sources ...policy.Source) *policy.Engine {
	engine, err := policy.New(context.Background(), policy.Options{Sources: sources, Now: now, Budget: budget})
	if err != nil {
		panic(err)
	}
	return engine
}

// running is a server on a port of loopback.
type running struct {
	*Server
	url  string
	stop context.CancelFunc
	// ended is what Serve returned; it is closed after that.
	ended chan error
}

func options(engine *policy.Engine, change func(*config.Serve)) Options {
	opts := Options{Engine: engine, Journal: newMemoryJournal(), Solo: true, Config: config.Serve{Addr: []string{"127.0.0.1:0"}}}
	if change != nil {
		change(&opts.Config)
	}
	return opts
}

// start runs a server until the end of the test.
func start(t testing.TB, opts Options) *running {
	t.Helper()
	server, err := New(opts)
	require.NoError(t, err)
	require.NoError(t, server.Listen())
	ctx, stop := context.WithCancel(context.Background())
	r := &running{Server: server, url: server.URLs()[0], stop: stop, ended: make(chan error, 1)}
	go func() {
		defer close(r.ended)
		r.ended <- server.Serve(ctx)
	}()
	await(t, server.rendezvous.Ready)
	t.Cleanup(func() {
		stop()
		for err := range r.ended {
			assert.NoError(t, err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

// ask sends a request and returns the answer with its whole body.
func ask(t testing.TB, method, url, contentType, body string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	return do(t, request)
}

// post is a request to validate, to be changed and sent.
func post(t testing.TB, r *running, body io.Reader) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/validate", body)
	require.NoError(t, err)
	return request
}

func do(t testing.TB, request *http.Request) (*http.Response, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(text)
}

// raw is a connection to a server, for requests that no client library sends.
func (r *running) raw(t testing.TB, request string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	return conn
}

// await spins until a condition holds that another goroutine is about to make true.
func await(t testing.TB, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "it did not happen")
	}
}

// golden compares with a file, or writes it.
func golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "%s; -update rewrites it", path)
}

// tiered is a launch of a TP=2 engine with a filesystem tier, its ranks on the given nodes.
func tiered(id, first, second string) string {
	return `{"engine": {"id": "` + id + `", "parallel": {"tensor": 2}, "executor": "external_launcher", "kv_transfer": {
		"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {
		"spec_name": "TieringOffloadingSpec", "cpu_bytes_to_use": 4096,
		"secondary_tiers": [{"type": "fs", "root_dir": "/kv"}]}}},
		"nodes": [{"id": "gpu-a", "boot_id": "b-a", "shm": {"device": "0:27"}},
		          {"id": "gpu-b", "boot_id": "b-b", "shm": {"device": "0:27"}}],
		"workers": [{"rank": 0, "node": "` + first + `"}, {"rank": 1, "node": "` + second + `"}],
		"core": {"node": "` + first + `"}}`
}

// logTo returns a logger of JSON lines without time.
func logTo(w *bytes.Buffer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}
