package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// named is a check of a site that denies engines whose ids begin with a prefix.
func named(prefix string) string {
	return `# METADATA
# title: Engines have good names
# custom: {enforcement: deny}
package tiergate.checks.site.naming

applies := true

violations contains {"message": "a bad name"} if startswith(input.engine.id, "` + prefix + `")

unknown := set()
`
}

// bundled is a bundle of one rule file.
func bundled(t testing.TB, rule string) *[]byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "naming.rego", Typeflag: tar.TypeReg, Size: int64(len(rule)), Mode: 0o644}))
	_, err := io.WriteString(w, rule)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, zip.Close())
	packed := out.Bytes()
	return &packed
}

func rolloutOf(t testing.TB, service string) (status v1.PolicyStatus) {
	t.Helper()
	answer, err := http.Get(service + "/v1/policies")
	require.NoError(t, err)
	defer answer.Body.Close()
	shown := struct{ Status *v1.PolicyStatus }{&status}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&shown))
	return status
}

func verdictOn(t testing.TB, service, engine string) (outcome, revision string) {
	t.Helper()
	answer, err := http.Post(service+"/v1/validate", "application/json", strings.NewReader(`{"engine": {"id": "`+engine+`", "nnodes": 1}}`))
	require.NoError(t, err)
	defer answer.Body.Close()
	var verdict v1.Verdict
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&verdict))
	return verdict.Outcome, verdict.Revision
}

// A service follows a bundle server from good to bad to good, and starts without it by what it had in force last.
func TestAServiceFollowsABundleServer(t *testing.T) {
	var served atomic.Pointer[[]byte]
	served.Store(bundled(t, named("bad")))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(*served.Load()) }))
	defer web.Close()
	shadow := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(shadow, "naming.rego"), []byte(named("shadow")), 0o600))
	args := []string{
		"--policy", web.URL + "/site.tar.gz", "--policy-poll", "20ms", "--policy-state", filepath.Join(t.TempDir(), "state"), "--shadow", shadow,
		"--cache-dir", t.TempDir(),
	}
	service := serveOn(t, "127.0.0.1:0", args...)
	outcome, first := verdictOn(t, service, "bad")
	assert.Equal(t, "deny", outcome)

	served.Store(bundled(t, "package broken {"))
	require.NoError(t, os.WriteFile(filepath.Join(shadow, "naming.rego"), []byte("package broken {"), 0o600))
	require.Eventually(t, func() bool { return rolloutOf(t, service).Candidate != nil }, time.Minute, 10*time.Millisecond)
	status := rolloutOf(t, service)
	assert.Equal(t, v1.StageCompile, status.Candidate.Stage)
	assert.Equal(t, first, status.Revision)
	outcome, revision := verdictOn(t, service, "bad")
	assert.Equal(t, []string{"deny", first}, []string{outcome, revision})
	ready, err := http.Get(service + "/health/ready")
	require.NoError(t, err)
	require.NoError(t, ready.Body.Close())
	assert.Equal(t, http.StatusOK, ready.StatusCode, "a bad candidate makes no service unready")

	served.Store(bundled(t, named("evil")))
	require.Eventually(t, func() bool { return rolloutOf(t, service).Candidate == nil }, time.Minute, 10*time.Millisecond)
	outcome, revision = verdictOn(t, service, "evil")
	assert.Equal(t, "deny", outcome)
	assert.NotEqual(t, first, revision)

	require.NoError(t, os.WriteFile(filepath.Join(shadow, "naming.rego"), []byte(named("shadow")), 0o600))
	web.Close()
	again := serveOn(t, "127.0.0.1:0", args...)
	_, kept := verdictOn(t, again, "evil")
	assert.Equal(t, revision, kept)
	require.Eventually(t, func() bool { return rolloutOf(t, again).Sources[0].Error != "" }, time.Minute, 10*time.Millisecond)
	assert.True(t, rolloutOf(t, again).Sources[0].Kept)
}
