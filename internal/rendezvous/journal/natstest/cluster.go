// Package natstest starts NATS clusters inside a test, on loopback, and breaks them. Only tests may import it.
package natstest

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// patience is for elections, which take a server 4 to 9 s after it last heard of a leader.
const patience = 60 * time.Second

// Cluster is a NATS cluster with JetStream that syncs every write, as operators are told to.
type Cluster struct {
	t     testing.TB
	dir   string
	links [][]*Link // links[i][j] is the route that server i opens to server j

	mu      sync.Mutex
	servers []*server.Server // nil while killed
	ports   []int            // of clients; they stay when a server restarts
	routes  []string         // where a server's route port is now
}

// NewCluster starts n servers and waits until they have a leader. They end with the test.
func NewCluster(t testing.TB, n int) *Cluster {
	t.Helper()
	c := &Cluster{
		t: t, dir: t.TempDir(), links: make([][]*Link, n),
		servers: make([]*server.Server, n), ports: make([]int, n), routes: make([]string, n),
	}
	for i := range n {
		c.ports[i] = server.RANDOM_PORT
		c.links[i] = make([]*Link, n)
		for j := range n {
			if i != j {
				c.links[i][j] = NewLink(t, func() string { return c.route(j) })
			}
		}
	}
	t.Cleanup(func() {
		for i := range n {
			c.Kill(i)
		}
	})
	for i := range n {
		c.start(i)
	}
	c.ready()
	return c
}

// URLs are those of all servers, separated by commas.
func (c *Cluster) URLs() string {
	urls := make([]string, len(c.ports))
	for i := range urls {
		urls[i] = c.URL(i)
	}
	return strings.Join(urls, ",")
}

// URL is that of one server, also while it is killed.
func (c *Cluster) URL(i int) string { return "nats://" + c.Addr(i) }

// Addr is the host:port of one server.
func (c *Cluster) Addr(i int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("127.0.0.1:%d", c.ports[i])
}

// Dir is where a server keeps its files.
func (c *Cluster) Dir(i int) string { return filepath.Join(c.dir, fmt.Sprint("n", i)) }

// Kill stops a server; its files stay. It is a stop in this process, so what the server wrote is never torn.
func (c *Cluster) Kill(i int) {
	c.mu.Lock()
	s := c.servers[i]
	c.servers[i] = nil
	c.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// Restart starts a killed server from its files, and waits until all that run know each other.
func (c *Cluster) Restart(i int) {
	c.t.Helper()
	c.start(i)
	c.ready()
}

// Start is Restart without the wait, for a cluster that has no quorum yet.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	c.start(i)
}

// Partition cuts a server off from the others. Its clients still reach it.
func (c *Cluster) Partition(i int) { c.each(i, (*Link).Cut) }

// Heal undoes Partition.
func (c *Cluster) Heal(i int) { c.each(i, (*Link).Heal) }

func (c *Cluster) each(i int, do func(*Link)) {
	for j := range c.links {
		if j != i {
			do(c.links[i][j])
			do(c.links[j][i])
		}
	}
}

// Leader waits until a server other than those excepted leads a stream, and returns which.
func (c *Cluster) Leader(stream string, except ...int) int {
	c.t.Helper()
	leader := -1
	c.until("a leader of "+stream, func() bool {
		for i, s := range c.running() {
			if s != nil && !slices.Contains(except, i) && s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
				leader = i
			}
		}
		return leader >= 0
	})
	return leader
}

func (c *Cluster) route(i int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.routes[i]
}

func (c *Cluster) running() []*server.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*server.Server(nil), c.servers...)
}

func (c *Cluster) start(i int) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Nil(c.t, c.servers[i], "server %d runs already", i)
	options := &server.Options{
		ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: c.ports[i], NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: c.Dir(i), SyncAlways: true,
	}
	if len(c.links) > 1 {
		// Servers tell each other where they are, and would find a way around the links: what they tell leads nowhere.
		options.Cluster = server.ClusterOpts{
			Name: "test", Host: "127.0.0.1", Port: server.RANDOM_PORT, Advertise: "127.0.0.1:1", NoAdvertise: true,
		}
		for j, link := range c.links[i] {
			if j != i {
				options.Routes = append(options.Routes, &url.URL{Scheme: "nats", Host: link.Addr()})
			}
		}
	}
	s, err := server.NewServer(options)
	require.NoError(c.t, err)
	s.Start()
	c.servers[i] = s
	require.True(c.t, s.ReadyForConnections(patience), "server %d does not start", i)
	c.ports[i] = s.Addr().(*net.TCPAddr).Port
	if address := s.ClusterAddr(); address != nil {
		c.routes[i] = address.String()
	}
}

// ready waits until the cluster has a leader and every running server follows it.
func (c *Cluster) ready() {
	c.t.Helper()
	if len(c.links) == 1 {
		return
	}
	c.until("a cluster of all that run", func() bool {
		leaders, current, up := 0, 0, 0
		for _, s := range c.running() {
			if s == nil {
				continue
			}
			up++
			if s.JetStreamIsLeader() {
				leaders++
			}
			if s.JetStreamIsCurrent() && s.NumRoutes() > 0 {
				current++
			}
		}
		return leaders == 1 && current == up
	})
}

func (c *Cluster) until(what string, done func() bool) {
	c.t.Helper()
	require.Eventually(c.t, done, patience, 20*time.Millisecond, "waited in vain for %s", what)
}
