package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/api/client"
	v1 "github.com/tiergate/tiergate/api/v1"
)

// service answers every request alike.
func service(t *testing.T, status int, mediaType, body string) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "POST /v1/validate", r.Method+" "+r.URL.Path)
		assert.Equal(t, "application/json", r.Header.Get("Content-Type"))
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	require.NoError(t, err)
	return c
}

func TestVerdictComesAsWritten(t *testing.T) {
	const verdict = `{"outcome":"allow","new_in_a_later_version":1}`
	c := service(t, 200, "application/json; charset=utf-8", verdict)
	text, err := c.ValidateJSON(t.Context(), &v1.Launch{})
	require.NoError(t, err)
	assert.Equal(t, verdict, string(text))
	got, err := c.Validate(t.Context(), &v1.Launch{})
	require.NoError(t, err)
	assert.Equal(t, &v1.Verdict{Outcome: v1.Allow}, got)
}

func TestProblemIsAnError(t *testing.T) {
	c := service(t, 422, "application/problem+json", `{"status":422,"code":"unknown_node","detail":"no such node"}`)
	_, err := c.Validate(t.Context(), &v1.Launch{})
	var problem *v1.Problem
	require.ErrorAs(t, err, &problem)
	assert.Equal(t, &v1.Problem{Status: 422, Code: "unknown_node", Detail: "no such node"}, problem)
}

func TestWhatIsNoServiceIsNoAnswer(t *testing.T) {
	for name, c := range map[string]*client.Client{
		"page":           service(t, 200, "text/html", `{"outcome":"allow"}`),
		"failed":         service(t, 502, "text/html", "bad gateway"),
		"json failure":   service(t, 500, "application/json", `{"outcome":"allow"}`),
		"no problem":     service(t, 422, "application/problem+json", `{`),
		"without a code": service(t, 422, "application/problem+json", `{"status":422}`),
		"no outcome":     service(t, 200, "application/json", `{}`),
		"other outcome":  service(t, 200, "application/json", `{"outcome":"allowed"}`),
		"no object":      service(t, 200, "application/json", `"allow"`),
		"ill-typed":      service(t, 200, "application/json", `{"outcome":"allow","checks":1}`),
		"other status":   service(t, 422, "application/problem+json", `{"status":503,"code":"overloaded"}`),
	} {
		_, err := c.Validate(t.Context(), &v1.Launch{})
		assert.ErrorIs(t, err, client.ErrAnswer, name)
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	c, err := client.New("unix://" + path)
	require.NoError(t, err)
	_, err = c.Validate(t.Context(), &v1.Launch{})
	require.ErrorIs(t, err, client.ErrUnreachable)

	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"outcome":"unknown"}`))
	}))
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	got, err := c.Validate(t.Context(), &v1.Launch{})
	require.NoError(t, err)
	assert.Equal(t, v1.Unknown, got.Outcome)
}

func TestADeadlineIsNoAnswer(t *testing.T) {
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // Only after the body does the server watch for the client to leave.
		close(asked)
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err = c.Validate(ctx, &v1.Launch{})
	require.ErrorIs(t, err, client.ErrUnreachable)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestAddresses(t *testing.T) {
	for _, good := range []string{"http://h:1", "https://h", "http://h/prefix/", "unix:///run/s"} {
		_, err := client.New(good)
		assert.NoError(t, err, good)
	}
	for _, bad := range []string{
		"", "h:1", "ftp://h", "http://", "unix://run/s", "unix:s", "http://h?x=1", "http://h#x", "http://%",
	} {
		_, err := client.New(bad)
		assert.ErrorContains(t, err, "server address", bad)
	}
}
