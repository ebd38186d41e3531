package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// serve runs a service on a unix socket until the test ends, and returns its address.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tg") // sockets have short paths
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	url := "unix://" + filepath.Join(dir, "s")
	assert.Equal(t, url, serveOn(t, url, args...))
	return url
}

// serveOn runs a service on an address until the test ends, and returns where it listens.
func serveOn(t *testing.T, addr string, args ...string) (url string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	status := make(chan int, 1)
	go func() {
		defer writer.Close() //nolint:errcheck // a pipe
		status <- Run(ctx, append([]string{"serve", "--addr", addr, "--log-level", "error"}, args...), nil, nil, writer, t.Output())
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	require.NoError(t, err)
	url, found := strings.CutPrefix(strings.TrimSpace(line), "tiergate listens on ")
	require.True(t, found, line)
	t.Cleanup(func() {
		stop()
		assert.Equal(t, 0, <-status, "a service that is told to stop ends well")
	})
	return url
}

// runIn runs a command in this process.
func runIn(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(t.Context(), args, nil, strings.NewReader(stdin), &out, &errs)
	return status, out.String(), errs.String()
}

func TestServiceAndCommandLineAgree(t *testing.T) {
	files, err := filepath.Glob("../../testdata/launches/vllm-*.yaml")
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, ".expect.yaml") })
	localStatus, local, _ := runIn(t, "", append([]string{"validate", "-o", "json"}, files...)...)
	remoteStatus, remote, stderr := runIn(t, "", append([]string{"validate", "-o", "json", "--server", serve(t)}, files...)...)
	assert.Empty(t, stderr)
	assert.Equal(t, int(StatusDeny), localStatus)
	assert.Equal(t, localStatus, remoteStatus)
	assert.Equal(t, checksOf(t, local), checksOf(t, remote))
}

// checksOf leaves out the digest, which changes with the minute.
func checksOf(t *testing.T, text string) (checks [][]v1.CheckResult) {
	t.Helper()
	var docs []struct{ Verdict v1.Verdict }
	require.NoError(t, json.Unmarshal([]byte(text), &docs))
	require.NotEmpty(t, docs)
	for _, doc := range docs {
		require.NotEmpty(t, doc.Verdict.Checks)
		checks = append(checks, doc.Verdict.Checks)
	}
	return checks
}

func TestServiceRefusesWhatTheCommandLineRefuses(t *testing.T) {
	const launch = `{"engine": {"parallel": {"tensor": 2}}, "nodes": [{"id": "a"}, {"id": "a"}]}`
	localStatus, local, _ := runIn(t, launch, "validate", "-o", "json", "-")
	remoteStatus, remote, _ := runIn(t, launch, "validate", "-o", "json", "--server", serve(t), "-")
	assert.Equal(t, int(StatusUsage), localStatus)
	assert.Equal(t, localStatus, remoteStatus)
	assert.JSONEq(t, local, remote)
	assert.Contains(t, local, `"code": "duplicate_node"`)
}

func TestServiceUnreachable(t *testing.T) {
	const launch = `{"engine": {"parallel": {"tensor": 2}}}`
	status, stdout, _ := runIn(t, launch, "validate", "-o", "json", "--server", "unix:///nowhere/s", "-")
	assert.Equal(t, int(StatusTimeout), status)
	assert.Contains(t, stdout, `"code": "service_unreachable"`)

	status, _, stderr := runIn(t, launch, "validate", "--server", "nowhere", "-")
	assert.Equal(t, int(StatusUsage), status)
	assert.Contains(t, stderr, "write http://host:port, https://host:port or unix:///path/to/socket")

	status, _, stderr = runIn(t, launch, "validate", "--server", "http://h", "--policy", "dir", "-")
	assert.Equal(t, int(StatusUsage), status)
	assert.Contains(t, stderr, "--policy and --data are for deciding here")
}

func TestServeRefusesABadConfiguration(t *testing.T) {
	status, stdout, stderr := runIn(t, "", "serve", "--addr", "0.0.0.0:1", "--max-requests=-1")
	assert.Equal(t, int(StatusUsage), status)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "nobody is authenticated")
	assert.Contains(t, stderr, "max_requests: -1 is not positive")
}
