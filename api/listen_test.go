package api

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/config"
)

// overSocket is a client that connects to a unix socket whatever the URL says.
func overSocket(t *testing.T, path string) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func onAddresses(t *testing.T, addrs ...string) *Server {
	t.Helper()
	s, err := New(options(shipped(), func(c *config.Serve) { c.Addr = addrs }))
	require.NoError(t, err)
	return s
}

func TestSeveralAddresses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.sock")
	r := start(t, options(shipped(), func(c *config.Serve) {
		c.Addr = []string{"127.0.0.1:0", "unix://" + path, "localhost:0"}
	}))
	require.Len(t, r.URLs(), 3)
	assert.Equal(t, "unix://"+path, r.URLs()[1])

	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o660), info.Mode().Perm(), "others must not connect")

	launch := strings.NewReader(tiered("e", "gpu-a", "gpu-b"))
	response, err := overSocket(t, path).Post("http://socket/v1/validate", "", launch)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, "deny", response.Header.Get("Tiergate-Outcome"))
	for _, url := range []string{r.URLs()[0], r.URLs()[2]} {
		answer, _ := ask(t, http.MethodGet, url+"/health", "", "")
		assert.Equal(t, http.StatusOK, answer.StatusCode)
	}

	r.stop()
	require.NoError(t, <-r.ended)
	_, err = os.Stat(path)
	assert.ErrorIs(t, err, os.ErrNotExist, "a socket is removed at the end")
}

func TestStaleSocketIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.sock")
	stale, err := net.Listen("unix", path)
	require.NoError(t, err)
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, stale.Close())

	s := onAddresses(t, "unix://"+path)
	require.NoError(t, s.Listen())
	defer s.closeListeners()
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

func TestWhatIsInTheWayOfASocketStays(t *testing.T) {
	dir := t.TempDir()
	file, taken := filepath.Join(dir, "file"), filepath.Join(dir, "taken.sock")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	other, err := net.Listen("unix", taken)
	require.NoError(t, err)
	defer other.Close()

	for path, want := range map[string]string{
		file: "listen on unix://" + file +
			": there is a file of that name which is no socket; remove it or choose another path",
		taken: "listen on unix://" + taken + ": another process listens there; stop it or choose another path",
		filepath.Join(dir, "none", "a.sock"): "listen on unix://" + dir + "/none/a.sock: listen unix " + dir +
			"/none/a.sock: bind: no such file or directory",
	} {
		assert.EqualError(t, onAddresses(t, "unix://"+path).Listen(), want)
	}
	_, err = os.Stat(file)
	assert.NoError(t, err)
	conn, err := net.Dial("unix", taken)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

func TestListenOpensAllAddressesOrNone(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	path := filepath.Join(t.TempDir(), "api.sock")
	s := onAddresses(t, "unix://"+path, taken.Addr().String())
	addr := taken.Addr().String()
	require.EqualError(t, s.Serve(t.Context()), "listen on "+addr+": listen tcp "+addr+": bind: address already in use")
	_, err = os.Stat(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Empty(t, s.URLs())
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	_, err := New(Options{})
	require.EqualError(t, err, "a server needs a policy engine")
	_, err = New(options(shipped(), func(c *config.Serve) { c.Addr, c.MaxRequests = []string{"0.0.0.0:8642"}, -1 }))
	require.EqualError(t, err, `configuration: addr: "0.0.0.0:8642" can be reached from other machines, and nobody is `+
		"authenticated; listen on 127.0.0.1 or a unix socket, give an access file, or set allow_unauthenticated to let anybody ask\n"+
		"max_requests: -1 is not positive")
}
