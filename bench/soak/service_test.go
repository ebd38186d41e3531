//go:build linux

package soak

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/document"
)

// The corpus says what the rules that ship say, with each edition of the policy that changes.
func TestCorpusIsRight(t *testing.T) {
	policies := &Policies{Dir: filepath.Join(t.TempDir(), "policy")}
	require.NoError(t, policies.Change())
	require.NoError(t, policies.Change())
	entries, err := os.ReadDir(policies.Dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "an edition takes the place of the last")
	engine, err := policy.New(t.Context(), policy.Options{Sources: []policy.Source{{Name: "soak", FS: os.DirFS(policies.Dir)}}})
	require.NoError(t, err)
	defer engine.Close(context.Background()) //nolint:errcheck // the test ends
	for _, c := range Corpus() {
		decode, mediaType := document.Launch, "application/json"
		if strings.HasPrefix(c.Path, "/v1/data/") {
			decode = document.Input
		}
		if c.YAML {
			mediaType = "application/yaml"
		}
		launch, err := decode(c.Body, mediaType)
		if c.Status == http.StatusBadRequest {
			assert.Error(t, err, c.Name)
			continue
		}
		require.NoError(t, err, c.Name)
		d, err := engine.DecideAt(t.Context(), topology.StageLaunch, launch)
		if c.Status != http.StatusOK {
			assert.Error(t, err, c.Name)
			continue
		}
		require.NoError(t, err, c.Name)
		text := d.JSON
		if strings.HasPrefix(c.Path, "/v1/data/") {
			text = []byte(`{"result":` + string(text) + `}`)
		}
		assert.Empty(t, c.wrong(&answer{status: http.StatusOK, outcome: d.Outcome, body: text}, true), c.Name)
	}
}

func TestMisconductIsAnsweredAndJudged(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 1<<20 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	server.Config.MaxHeaderBytes = 16 << 10
	server.Start()
	defer server.Close()
	target := Target{Network: "tcp", Address: server.Listener.Addr().String()}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	m := Misbehave(ctx, &Service{Plain: target, Unix: target, diagnostic: server.URL})
	assert.Positive(t, m.Acts)
	for _, status := range []int{http.StatusOK, http.StatusBadRequest, http.StatusRequestHeaderFieldsTooLarge} {
		assert.Positive(t, m.Statuses[status], "%d of %s", status, m.statuses())
	}
	assert.Equal(t, m.Statuses[http.StatusInternalServerError], m.Wrong)
	assert.Equal(t, "body too large: status 500", m.First)

	sum := &Misconduct{Acts: 1, First: "first"}
	sum.Add(m)
	assert.Equal(t, "first", sum.First)
	assert.Equal(t, m.Acts+1, sum.Acts)
	assert.Equal(t, m.Statuses, sum.Statuses)
}

func TestLoggedErrors(t *testing.T) {
	s := &Service{log: filepath.Join(t.TempDir(), "log")}
	require.NoError(t, os.WriteFile(s.log, []byte(`{"level":"WARN","msg":"fine"}
{"level":"ERROR","msg":"bad"}
fatal error: all goroutines are asleep
`), 0o600))
	lines, err := s.LoggedErrors()
	require.NoError(t, err)
	assert.Equal(t, []string{`{"level":"ERROR","msg":"bad"}`, "fatal error: all goroutines are asleep"}, lines)
}

func TestMetric(t *testing.T) {
	text := []byte("# HELP go_goroutines Number.\ngo_goroutines 12\ngo_goroutines_more 13\n")
	assert.InDelta(t, 12, metric(text, "go_goroutines"), 0)
	assert.Zero(t, metric(text, "go_threads"))
}

// A child has the processors that it was started on, and this process keeps its own.
func TestOnProcessors(t *testing.T) {
	own, theirs, err := Processors()
	require.NoError(t, err)
	if len(theirs) == 0 {
		t.Skip("there is only one processor")
	}
	assert.NotContains(t, own, theirs[0])
	var out bytes.Buffer
	require.NoError(t, onProcessors(theirs[:1], func() error {
		child := exec.CommandContext(t.Context(), "grep", "Cpus_allowed_list", "/proc/self/status")
		child.Stdout = &out
		return child.Run()
	}))
	assert.Equal(t, strconv.Itoa(theirs[0]), strings.Fields(out.String())[1])
	_, after, err := Processors()
	require.NoError(t, err)
	assert.Equal(t, theirs, after)
}

func TestStolen(t *testing.T) {
	assert.Zero(t, stolen(0, 0))
	assert.InDelta(t, 0.25, stolen(3*time.Second, time.Second), 1e-9)
}
