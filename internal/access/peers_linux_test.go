package access

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wrapped is a connection as a server's own listener makes them.
type wrapped struct{ net.Conn }

func (w wrapped) NetConn() net.Conn { return w.Conn }

type wrapping struct{ net.Listener }

func (w wrapping) Accept() (net.Conn, error) {
	conn, err := w.Listener.Accept()
	return wrapped{conn}, err
}

// overSocket serves a guard at a unix socket and gives a client for it.
func overSocket(t *testing.T, guard *Guard, conf *tls.Config) *http.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(whoami(guard))
	_ = server.Listener.Close()
	server.Listener, server.Config.ConnContext = wrapping{listener}, ConnContext
	if conf != nil {
		server.TLS = conf
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestIdentifyByUnixPeer(t *testing.T) {
	uid, gid := os.Getuid(), os.Getgid()
	const token = "tokens: [{name: ci, file: ci.token, tenant: t, roles: [launcher]}]\n"
	for _, test := range []struct{ name, peers, token, want string }{
		{"a user", fmt.Sprintf("[{uid: %d, tenant: a, roles: [worker]}]", uid), "", fmt.Sprintf("uid:%d of a", uid)},
		{"a group", fmt.Sprintf("[{gid: %d, tenant: a, roles: [worker]}]", gid), "", fmt.Sprintf("uid:%d of a", uid)},
		{"both", fmt.Sprintf("[{uid: %d, gid: %d, tenant: a, roles: [worker]}]", uid, gid), "", fmt.Sprintf("uid:%d of a", uid)},
		{"the first of two", fmt.Sprintf("[{uid: %d, tenant: a, roles: [worker]}, {gid: %d, tenant: b, roles: [worker]}]", uid, gid), "", fmt.Sprintf("uid:%d of a", uid)},
		{"another user", fmt.Sprintf("[{uid: %d, roles: [worker]}]", uid+1), "", fmt.Sprintf("the process at the other end of the unix socket "+
			"has uid %d and gid %d, and no entry of unix_peers does; have it added to the access file", uid, gid)},
		{"the user with another group", fmt.Sprintf("[{uid: %d, gid: %d, roles: [worker]}]", uid, gid+1), "", fmt.Sprintf("the process at the "+
			"other end of the unix socket has uid %d and gid %d, and no entry of unix_peers does; have it added to the access file", uid, gid)},
		{"a token beside it", fmt.Sprintf("[{uid: %d, tenant: a, roles: [worker]}]", uid), ciToken, "token:ci of t"},
		{"a wrong token beside it", fmt.Sprintf("[{uid: %d, tenant: a, roles: [worker]}]", uid), "wrong", "no entry has this bearer token; " +
			"taken are: a bearer token that the access file names; a unix socket"},
	} {
		guard := open(t, token+"unix_peers: "+test.peers, map[string]string{"ci.token": ciToken})
		assert.Equal(t, test.want, ask(t, overSocket(t, guard, nil), "http://socket", test.token), test.name)
	}
	guard := open(t, token+fmt.Sprintf("unix_peers: [{uid: %d, tenant: a, roles: [worker]}]", uid), map[string]string{"ci.token": ciToken})
	ca := newAuthority(t)
	conf := &tls.Config{Certificates: []tls.Certificate{ca.sign(t, named("", "socket", ""))}}
	assert.Equal(t, fmt.Sprintf("uid:%d of a", uid), ask(t, overSocket(t, guard, conf), "https://socket", ""), "under TLS")
	server := httptest.NewUnstartedServer(whoami(guard))
	server.Config.ConnContext = ConnContext
	server.Start()
	defer server.Close()
	assert.Contains(t, ask(t, server.Client(), server.URL, ""), "the request shows no credentials", "TCP has no peer credentials")
}
