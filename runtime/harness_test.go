package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime/internal/probe"
)

// network connects gates with a service by pipes, so that all of it runs on virtual time in one bubble, which fails if
// it is left with a goroutine.
type network struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
	// dialled counts connections; down refuses new ones.
	dialled atomic.Int64
	down    atomic.Bool
}

func serve(t *testing.T, h http.Handler) *network {
	n := &network{accept: make(chan net.Conn), closed: make(chan struct{})}
	var mu sync.Mutex
	var handlers sync.WaitGroup
	closing := false
	enter := func() bool {
		mu.Lock()
		defer mu.Unlock()
		if !closing {
			handlers.Add(1)
		}
		return !closing
	}
	server := &http.Server{
		ErrorLog: quiet,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if enter() {
				defer handlers.Done()
				h.ServeHTTP(w, r)
			}
		}),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(n)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
		mu.Lock()
		closing = true
		mu.Unlock()
		handlers.Wait()
	})
	return n
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.accept:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

func (n *network) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if n.down.Load() {
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	}
	ours, theirs := net.Pipe()
	select {
	case n.accept <- theirs:
		n.dialled.Add(1)
		return ours, nil
	case <-n.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// shmDir is a directory of its own on a tmpfs, which stands for the /dev/shm of one host. It must be empty in the end.
func shmDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(probe.Shm, "gate-test-")
	if err != nil {
		t.Skipf("no %s to make directories in: %v", probe.Shm, err)
	}
	t.Cleanup(func() {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries, "left behind")
		require.NoError(t, os.RemoveAll(dir))
	})
	return dir
}

// rank is one worker of a test.
type rank struct {
	gate   *Gate
	member Membership
	ran    atomic.Int64
	lines  *lines
}

func (r *rank) register(ctx context.Context) error {
	return r.gate.RegisterKV(ctx, r.member, func(context.Context) error {
		r.ran.Add(1)
		return nil
	})
}

// newRank has a gate of its own, as every process has.
func newRank(t *testing.T, n *network, shm string, m Membership) *rank {
	t.Helper()
	r := &rank{member: m, lines: new(lines)}
	gate, err := New(Options{Engine: "engine-a", Collect: func() v1.NodeFacts { return v1.NodeFacts{Node: shm} }, Logger: slog.New(r.lines)})
	require.NoError(t, err)
	gate.shm, gate.connect = shm, n.dial
	r.gate = gate
	return r
}

// pair is a tensor-parallel engine of two.
func pair(t *testing.T, n *network, shm ...string) []*rank {
	t.Helper()
	ranks := make([]*rank, 2)
	for i := range ranks {
		ranks[i] = newRank(t, n, shm[i%len(shm)], tensorMember(int64(i), 2))
	}
	return ranks
}

func tensorMember(rank, size int64) Membership {
	group := make([]int64, size)
	for i := range group {
		group[i] = int64(i)
	}
	return Membership{
		Rank: rank, WorldSize: size, Groups: map[string][]int64{"tp": group},
		Engine: v1.Engine{
			Version: "0.33.0", Parallel: &v1.Parallel{Tensor: &size}, Executor: "mp",
			KVTransfer: json.RawMessage(`{"kv_connector": "OffloadingConnector", "kv_connector_extra_config": {"secondary_tiers": [{"type": "fs"}]}}`),
		},
	}
}

// registerAll runs all ranks at once.
func registerAll(ctx context.Context, ranks []*rank) []error {
	errs := make([]error, len(ranks))
	var wait sync.WaitGroup
	for i, r := range ranks {
		wait.Go(func() { errs[i] = r.register(ctx) })
	}
	wait.Wait()
	return errs
}

// bubble runs a test on virtual time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// lines keeps the messages that were logged, and may act on each.
type lines struct {
	mu   sync.Mutex
	seen []string
	text []string
	on   func(message string)
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *lines) WithGroup(string) slog.Handler            { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	l.seen = append(l.seen, r.Message)
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	l.text = append(l.text, text)
	l.mu.Unlock()
	if l.on != nil {
		l.on(r.Message)
	}
	return nil
}

func (l *lines) messages() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.seen...)
}

// texts are the messages with their attributes.
func (l *lines) texts() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.text...)
}

var quiet = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)

var errBoom = errors.New("boom")
