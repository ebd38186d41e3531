package cli

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/certs/certstest"
)

// Two processes register over TLS with a token, as workers in a cluster do.
func TestRegisterOverTLS(t *testing.T) {
	dir, foreign := t.TempDir(), t.TempDir()
	certstest.New(t).Files(dir, certstest.Loopback)
	certstest.New(t).Files(foreign, certstest.Loopback)
	path := func(name string) string { return filepath.Join(dir, name) }
	file := func(name, text string) string {
		require.NoError(t, os.WriteFile(path(name), []byte(text), 0o600))
		return path(name)
	}
	const token = "token-of-the-fleet"
	rules := file("access.yaml", fmt.Sprintf("tokens: [{name: fleet, sha256: %x, tenant: a, roles: [worker]}]\n", sha256.Sum256([]byte(token))))
	url := serveOn(t, "127.0.0.1:0", "--access", rules, "--tls-cert", path("tls.crt"), "--tls-key", path("tls.key"))
	good, wrong := file("token", token+"\n"), file("wrong", "token-of-nobody-here")
	args := func(ranks, token, ca string) []string {
		return []string{
			"--server", url, "--engine", "chat", "--world-size", "4", "--ranks", ranks, "--token-file", token, "--ca", ca, "--", "true",
		}
	}
	first, second := startRegister(t, args("0-1", good, path("ca.crt"))...), startRegister(t, args("2-3", good, path("ca.crt"))...)
	for _, p := range []*process{first, second} {
		assert.Equal(t, 0, p.end(t).ExitStatus(), p.all.String())
	}

	refused := startRegister(t, args("0-3", wrong, path("ca.crt"))...)
	assert.Equal(t, 2, refused.end(t).ExitStatus(), "it does not wait for the deadline")
	assert.Contains(t, refused.all.String(), "unauthenticated: no entry has this bearer token")
	assert.NotContains(t, refused.all.String(), "token-of")
	unbelieved := startRegister(t, args("0-3", good, filepath.Join(foreign, "ca.crt"))...)
	assert.Equal(t, 2, unbelieved.end(t).ExitStatus())
	assert.Contains(t, unbelieved.all.String(), "the service's certificate is not believed")
}
