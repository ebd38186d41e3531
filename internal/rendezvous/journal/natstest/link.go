package natstest

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Link is a TCP connection to a server that a test can cut. A cut one is silent, as when a cable is pulled: neither side is
// told, what was sent waits, and new connections get no answer.
type Link struct {
	listener net.Listener
	target   func() string
	running  sync.WaitGroup

	mu    sync.Mutex
	open  chan struct{} // closed while data may pass
	conns map[net.Conn]bool
	done  chan struct{}
}

// NewLink listens on a port of loopback for connections to target (host:port), which is asked at each connection.
func NewLink(t testing.TB, target func() string) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &Link{
		listener: listener, target: target, open: make(chan struct{}), conns: map[net.Conn]bool{}, done: make(chan struct{}),
	}
	close(l.open)
	l.running.Go(l.accept)
	t.Cleanup(l.close)
	return l
}

// Addr is where to connect to instead of the target: host:port.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Cut lets nothing pass until Heal.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
		l.open = make(chan struct{})
	default:
	}
}

// Heal lets everything pass again, also what waited.
func (l *Link) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

// Break closes all connections. New ones may be made, unless the link is cut.
func (l *Link) Break() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		_ = conn.Close()
	}
}

// pass waits until data may pass; false when the link is closed.
func (l *Link) pass() bool {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	select {
	case <-open:
		return true
	case <-l.done:
		return false
	}
}

func (l *Link) accept() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		if l.keep(conn) {
			l.running.Go(func() { l.serve(conn) })
		}
	}
}

// keep remembers a connection, to close it at the end; false when that has come.
func (l *Link) keep(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.done:
		_ = conn.Close()
		return false
	default:
		l.conns[conn] = true
		return true
	}
}

func (l *Link) drop(conn net.Conn) {
	_ = conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
}

func (l *Link) serve(near net.Conn) {
	defer l.drop(near)
	if !l.pass() {
		return
	}
	far, err := net.Dial("tcp", l.target())
	if err != nil || !l.keep(far) {
		return
	}
	defer l.drop(far)
	var both sync.WaitGroup
	both.Go(func() { l.copy(far, near) })
	both.Go(func() { l.copy(near, far) })
	both.Wait()
}

func (l *Link) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !l.pass() {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if err == io.EOF {
				l.pass() // the news of an end is data, too
			}
			return
		}
	}
}

func (l *Link) close() {
	_ = l.listener.Close()
	l.mu.Lock()
	close(l.done)
	for conn := range l.conns {
		_ = conn.Close()
	}
	l.mu.Unlock()
	l.running.Wait()
}
