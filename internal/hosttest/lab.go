package hosttest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const bridge = "switch"

// Lab is a switch and the hosts that are plugged into it. Its methods are safe for tests that run in parallel.
type Lab struct {
	tb     testing.TB
	thread *thread // of the switch, which is a host of this process's own servers and clients
	net    *os.File

	mu    sync.Mutex
	ports int
}

// Require skips the test where hosts cannot be built, and says why.
func Require(tb testing.TB) {
	tb.Helper()
	if err := possible(); err != nil {
		tb.Skipf("hosts cannot be built here: %v", err)
	}
}

var possible = sync.OnceValue(func() error {
	if os.Geteuid() != 0 {
		return errors.New("that takes root")
	}
	t, err := startThread(func() error {
		if err := own(unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWUTS); err != nil {
			return err
		}
		self, err := open("net")
		if err != nil {
			return err
		}
		defer self.Close()
		return errors.Join(addBridge(bridge), addCable("a", "b", self.Fd()), Shm{}.mount())
	})
	if err == nil {
		t.close()
	}
	return err
})

// New builds a switch without hosts, which lasts as long as the test. It calls Require.
func New(tb testing.TB) *Lab {
	tb.Helper()
	Require(tb)
	l := &Lab{tb: tb}
	var err error
	l.thread, err = startThread(func() (err error) {
		if err := own(unix.CLONE_NEWNET); err != nil {
			return err
		}
		if l.net, err = open("net"); err != nil {
			return err
		}
		return errors.Join(setUp("lo", netip.Prefix{}), addBridge(bridge), setUp(bridge, address(0)))
	})
	require.NoError(tb, err)
	tb.Cleanup(func() {
		l.thread.close()
		l.net.Close()
	})
	return l
}

// address is that of the n-th port; the switch itself has the first. It is seen in the lab's namespaces only.
func address(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 86, byte(n >> 8), byte(n&0xff + 1)}), 16)
}

// Address is the switch's own, where Listen listens and hosts reach this process.
func (l *Lab) Address() string { return address(0).Addr().String() }

// Listen opens a port of the switch, for a server in this process. Port 0 chooses one.
func (l *Lab) Listen(tb testing.TB, port int) net.Listener {
	tb.Helper()
	var listener net.Listener
	require.NoError(tb, l.thread.do(func() (err error) {
		listener, err = (&net.ListenConfig{}).Listen(tb.Context(), "tcp", fmt.Sprintf("%s:%d", l.Address(), port))
		return err
	}))
	return listener
}

// Dial connects this process to host:port of a host, from the switch. The host is an address, not a name.
func (l *Lab) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	// A thread of its own, because connecting may take long. It has the socket opened in the switch's namespace; who reads
	// and writes it later, and where, does not matter.
	t, err := startThread(func() error { return join(l.net) })
	if err != nil {
		return nil, err
	}
	defer t.close()
	err = t.do(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}
