package deploy

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/certs/certstest"
)

// The central service, as it is deployed, meets NATS, as it is deployed: over mutual TLS, with three servers that keep a record.
func TestCentralStarts(t *testing.T) {
	if testing.Short() {
		t.Skip("a NATS cluster takes seconds to form")
	}
	certs := t.TempDir()
	certstest.New(t).Files(certs, certstest.Loopback)
	clients := cluster(t, certs)

	var replace []string
	for i, address := range clients {
		replace = append(replace, fmt.Sprintf("tiergate-nats-%d.tiergate-nats:4222", i), address)
	}
	s := start(t, "central", append(replace, "/etc/tiergate/nats", certs)...)
	require.Len(t, s.urls, 2)
	s.untilReady(t, s.urls[1])
	code, text := s.ask(t, http.MethodGet, s.urls[0]+"/v1/engines", "")
	assert.Equal(t, http.StatusUnauthorized, code, text)
}

// cluster starts the servers of the StatefulSet on this machine and returns their addresses for clients.
func cluster(t *testing.T, certs string) []string {
	text, err := os.ReadFile("kustomize/central/nats.conf")
	require.NoError(t, err)
	clients, routes := addresses(t, 3), addresses(t, 3)
	var servers []*server.Server
	for i := range clients {
		dir := t.TempDir()
		replace := []string{
			"$POD_NAME", fmt.Sprintf("tiergate-nats-%d", i), "/etc/nats/tls", certs, "/data", dir,
			"0.0.0.0:4222", clients[i], "0.0.0.0:6222", routes[i], "http: 0.0.0.0:8222", "",
		}
		for j, route := range routes {
			replace = append(replace, fmt.Sprintf("tiergate-nats-%d.tiergate-nats:6222", j), route)
		}
		file := filepath.Join(dir, "nats.conf")
		require.NoError(t, os.WriteFile(file, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o600))
		opts, err := server.ProcessConfigFile(file)
		require.NoError(t, err)
		opts.NoLog, opts.NoSigs = true, true
		one, err := server.NewServer(opts)
		require.NoError(t, err)
		go one.Start()
		servers = append(servers, one)
		t.Cleanup(func() { one.Shutdown(); one.WaitForShutdown() })
	}
	for _, one := range servers {
		require.True(t, one.ReadyForConnections(30*time.Second))
	}
	require.Eventually(t, func() bool {
		for _, one := range servers {
			if one.JetStreamIsLeader() {
				return true
			}
		}
		return false
	}, 30*time.Second, 50*time.Millisecond, "the servers find one another and choose a leader")
	return clients
}

// addresses are free ones of this machine.
func addresses(t *testing.T, n int) (free []string) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		free = append(free, listener.Addr().String())
		defer listener.Close() //nolint:errcheck // it only kept the port from the next
	}
	return free
}
