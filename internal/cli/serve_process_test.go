package cli

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startServe runs a real service on an address, and returns it when it answers.
func startServe(t *testing.T, args ...string) (p *process, url string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := free.Addr().String()
	require.NoError(t, free.Close())
	p = startTiergate(t, append([]string{"serve", "--addr", addr, "--cache-dir", t.TempDir()}, args...)...)
	p.until(t, `"msg":"serving"`)
	url = "http://" + addr
	require.Eventually(t, func() bool { return statusAt(url+"/health/ready") == http.StatusOK }, 30*time.Second, time.Millisecond)
	return p, url
}

func statusAt(url string) int {
	answer, err := http.Get(url)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// After SIGTERM a service is not ready, answers for the delay, sends what its logs hold and ends in time.
func TestServeDrains(t *testing.T) {
	traced := make(chan string, 100)
	collector := http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		traced <- string(text)
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = collector.Serve(listener) }()
	defer collector.Close() //nolint:errcheck // a test's

	decisions := filepath.Join(t.TempDir(), "decisions.json")
	p, url := startServe(t, "--drain-delay", "2s", "--shutdown-timeout", "5s", "--decision-log", decisions,
		"--traces", fmt.Sprint("http://", listener.Addr()))
	began := time.Now()
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	p.until(t, `"msg":"not ready any more"`)
	assert.Equal(t, http.StatusServiceUnavailable, statusAt(url+"/health/ready"))
	answer, err := http.Post(url+"/v1/validate", "application/json", strings.NewReader(`{"engine": {"id": "late", "nnodes": 1}}`))
	require.NoError(t, err, "its doors are open while nobody was told yet")
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, http.StatusOK, answer.StatusCode)

	assert.Equal(t, 0, p.end(t).ExitStatus(), p.all.String())
	assert.GreaterOrEqual(t, time.Since(began), 2*time.Second)
	assert.Less(t, time.Since(began), 15*time.Second)
	assert.Zero(t, statusAt(url+"/health/ready"))
	kept, err := os.ReadFile(decisions)
	require.NoError(t, err)
	assert.Contains(t, string(kept), `"late"`)
	assert.Contains(t, <-traced, "POST /v1/validate")
}

// Whoever has no patience sends the signal again.
func TestServeEndsAtOnceWhenToldTwice(t *testing.T) {
	p, _ := startServe(t, "--drain-delay", "1h")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	p.until(t, `"msg":"not ready any more"`)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	status := p.end(t)
	assert.True(t, status.Signaled(), p.all.String())
	assert.Equal(t, syscall.SIGTERM, status.Signal())
	assert.Contains(t, p.all.String(), "tiergate: terminated again: ends at once, without finishing what is under way\n")
}
