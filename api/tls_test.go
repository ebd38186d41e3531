package api

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/access"
	"github.com/tiergate/tiergate/internal/certs"
	"github.com/tiergate/tiergate/internal/certs/certstest"
	"github.com/tiergate/tiergate/internal/config"
)

// encrypted is a service over TLS with a webhook and a diagnostic address, that knows one certificate.
type encrypted struct {
	*running
	authority *certstest.Authority
	log       bytes.Buffer
}

func encrypt(t *testing.T, clientCA bool) *encrypted {
	t.Helper()
	e := &encrypted{authority: certstest.New(t)}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	e.authority.Files(dir, certstest.Loopback)
	require.NoError(t, os.WriteFile(path("access.yaml"), []byte(
		"certificates: [{subject: launcher-*, tenant: a, roles: [launcher]}]\n"), 0o600))
	opts := options(shipped(), func(c *config.Serve) {
		c.WebhookAddr, c.DiagnosticAddr, c.Access = "localhost:0", "[::1]:0", path("access.yaml")
		c.TLSCert, c.TLSKey = path("tls.crt"), path("tls.key")
		if clientCA {
			c.TLSClientCA = path("ca.crt")
		}
		c.ReadHeaderTimeout = 500 * time.Millisecond
	})
	var err error
	opts.TLS, err = certs.Open(certs.Options{Cert: opts.Config.TLSCert, Key: opts.Config.TLSKey, CA: opts.Config.TLSClientCA})
	require.NoError(t, err)
	opts.Access, err = access.Open(t.Context(), access.Options{File: opts.Config.Access})
	require.NoError(t, err)
	opts.Logger = slog.New(slog.NewTextHandler(&e.log, nil))
	e.running = start(t, opts)
	return e
}

// as is a client that shows a certificate of a name; empty shows none.
func (e *encrypted) as(t *testing.T, name string) *http.Client {
	t.Helper()
	c := &tls.Config{RootCAs: x509.NewCertPool()}
	require.True(t, c.RootCAs.AppendCertsFromPEM(e.authority.PEM))
	if name != "" {
		pair, err := tls.X509KeyPair(e.authority.Issue(certstest.Names{Common: name}))
		require.NoError(t, err)
		c.Certificates = []tls.Certificate{pair}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func status(t *testing.T, client *http.Client, method, url, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, 1, response.ProtoMajor)
	return response.StatusCode, string(text)
}

func TestAddressesSpeakTLS(t *testing.T) {
	e := encrypt(t, true)
	urls := e.URLs()
	require.Len(t, urls, 3)
	main, webhook, diagnostic := urls[0], urls[1], urls[2]
	for _, url := range []string{main, webhook} {
		assert.True(t, strings.HasPrefix(url, "https://"), url)
	}
	assert.True(t, strings.HasPrefix(diagnostic, "http://"), diagnostic)
	launch := tiered("engine-a", "gpu-a", "gpu-a")
	code, text := status(t, e.as(t, "launcher-1"), http.MethodPost, main+"/v1/validate", launch)
	assert.Equal(t, http.StatusOK, code, text)
	code, text = status(t, e.as(t, "worker-1"), http.MethodPost, main+"/v1/validate", launch)
	assert.Equal(t, http.StatusUnauthorized, code)
	assert.Contains(t, text, "worker-1")
	code, _ = status(t, e.as(t, ""), http.MethodPost, main+"/v1/validate", launch)
	assert.Equal(t, http.StatusUnauthorized, code, "the access file says who is nobody, not the handshake")
	code, _ = status(t, e.as(t, ""), http.MethodGet, main+"/health/ready", "")
	assert.Equal(t, http.StatusOK, code)
	code, text = status(t, e.as(t, ""), http.MethodGet, webhook+"/health", "")
	assert.Zero(t, code, "with a client CA the API server must show a certificate")
	assert.Contains(t, text, "certificate required")
	code, _ = status(t, e.as(t, "apiserver"), http.MethodGet, webhook+"/health", "")
	assert.Equal(t, http.StatusOK, code)
	code, _ = status(t, e.as(t, "apiserver"), http.MethodPost, webhook+"/v1/validate", launch)
	assert.Equal(t, http.StatusNotFound, code, "the webhook's address serves nothing else")
	code, _ = status(t, http.DefaultClient, http.MethodGet, diagnostic+"/metrics", "")
	assert.Equal(t, http.StatusOK, code)
}

// Garbage on a TLS port ends at the timeout or at once, and is no news.
func TestGarbageInsteadOfTLS(t *testing.T) {
	e := encrypt(t, false)
	addr := strings.TrimPrefix(e.URLs()[0], "https://")
	for name, sent := range map[string]string{
		"plain HTTP": "GET /health HTTP/1.1\r\nHost: a\r\n\r\n", "garbage": strings.Repeat("\x16\x03\x01garbage", 100), "nothing": "", "half a record": "\x16\x03\x01\x02\x00",
	} {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, _ = io.WriteString(conn, sent)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
		answer, err := io.ReadAll(conn)
		if name == "plain HTTP" {
			assert.Contains(t, string(answer), "400 Bad Request")
		}
		assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "%s: the server must end it", name)
		_ = conn.Close()
	}
	code, _ := status(t, e.as(t, ""), http.MethodGet, e.URLs()[0]+"/health", "")
	assert.Equal(t, http.StatusOK, code)
	e.stop()
	for range e.ended { //nolint:revive // until it has ended, and with it its log
	}
	assert.NotContains(t, e.log.String(), "handshake")
}
