package hosttest_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tiergate/tiergate/internal/hosttest"
)

// shell runs a script on a host and returns what it printed.
func shell(t *testing.T, h *hosttest.Host, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	p := h.Start(t, hosttest.Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ()})
	require.Zero(t, p.Wait(ctx, t), p.Stderr.String())
	return strings.TrimSpace(p.Stdout.String())
}

func TestHostsHaveTheirOwnIdentityAndMemory(t *testing.T) {
	t.Parallel()
	lab := hosttest.New(t)
	a, b := lab.Host(t, "gpu-a", hosttest.Shm{}), lab.Host(t, "gpu-b", hosttest.Shm{Bytes: 1 << 20})
	pod, sibling := a.Pod(t, "pod-a2", hosttest.Shm{}), a.Container(t, "sidecar")

	identity := "cat /proc/sys/kernel/random/boot_id; hostname; stat -c %d /dev/shm"
	fields := func(h *hosttest.Host) []string { return strings.Fields(shell(t, h, identity)) }
	ofA, ofB, ofPod, ofSibling := fields(a), fields(b), fields(pod), fields(sibling)
	assert.Equal(t, []string{a.BootID, "gpu-a"}, ofA[:2])
	assert.Equal(t, []string{b.BootID, "gpu-b"}, ofB[:2])
	assert.Equal(t, []string{a.BootID, "pod-a2"}, ofPod[:2])
	assert.Equal(t, []string{a.BootID, "sidecar"}, ofSibling[:2])
	assert.NotEqual(t, ofA[2], ofB[2])
	assert.NotEqual(t, ofA[2], ofPod[2])
	assert.Equal(t, ofA[2], ofSibling[2])

	shell(t, a, "echo x >/dev/shm/here")
	assert.Equal(t, []string{"here"}, a.Segments(t))
	assert.Equal(t, []string{"here"}, sibling.Segments(t))
	assert.Empty(t, b.Segments(t))
	assert.Empty(t, pod.Segments(t))
	assert.NoFileExists(t, "/dev/shm/here", "a host's memory is not the machine's")
}

func TestShm(t *testing.T) {
	t.Parallel()
	lab := hosttest.New(t)
	kind := "stat -f -c %T /dev/shm"
	create := "echo x | tee /dev/shm/new 2>&1 >/dev/null || true"
	tests := map[string]struct {
		shm      hosttest.Shm
		fill     func(*hosttest.Host, testing.TB)
		kind     string
		creating string
	}{
		"plain":     {kind: "tmpfs"},
		"full":      {shm: hosttest.Shm{Bytes: 1 << 20}, fill: (*hosttest.Host).Fill, kind: "tmpfs", creating: "No space left"},
		"inodes":    {shm: hosttest.Shm{Inodes: 10}, fill: (*hosttest.Host).FillInodes, kind: "tmpfs", creating: "No space left"},
		"read-only": {shm: hosttest.Shm{ReadOnly: true}, kind: "tmpfs", creating: "Read-only file system"},
		"ramfs":     {shm: hosttest.Shm{NotTmpfs: true}, kind: "ramfs"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := lab.Host(t, "h", test.shm)
			assert.Equal(t, test.kind, shell(t, h, kind))
			if test.fill != nil {
				test.fill(h, t)
			}
			if out := shell(t, h, create); test.creating == "" {
				assert.Empty(t, out)
			} else {
				assert.Contains(t, out, test.creating)
			}
			if test.fill != nil {
				h.Drain(t)
				assert.Empty(t, shell(t, h, create))
			}
		})
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	lab := hosttest.New(t)
	a, b := lab.Host(t, "a", hosttest.Shm{}), lab.Host(t, "b", hosttest.Shm{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _, _ := net.SplitHostPort(r.RemoteAddr)
		fmt.Fprint(w, from)
	})}
	listener := lab.Listen(t, 0)
	go func() { _ = server.Serve(listener) }()
	defer server.Close()

	port := listener.Addr().(*net.TCPAddr).Port
	ask := fmt.Sprintf("exec 3<>/dev/tcp/%s/%d; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; tail -1 <&3", lab.Address(), port)
	from := func(h *hosttest.Host) string { return shell(t, h, "timeout 0.3 bash -c \""+ask+"\" || echo lost") }
	assert.Equal(t, a.Address, from(a))
	assert.Equal(t, b.Address, from(b))
	a.Cut(t)
	assert.Equal(t, "lost", from(a))
	assert.Equal(t, b.Address, from(b))
	a.Heal(t)
	assert.Equal(t, a.Address, from(a))
}

// TestNetworkedContainer shares memory but no address, and can be cut off and written to alone.
func TestNetworkedContainer(t *testing.T) {
	t.Parallel()
	lab := hosttest.New(t)
	a := lab.Host(t, "a", hosttest.Shm{})
	c := a.NetworkedContainer(t, "c")
	assert.NotEqual(t, a.Address, c.Address)
	assert.Equal(t, shell(t, a, "cat /proc/sys/kernel/random/boot_id"), shell(t, c, "cat /proc/sys/kernel/random/boot_id"))
	shell(t, a, "echo >/dev/shm/file")
	assert.Equal(t, []string{"file"}, c.Segments(t))
	c.MakeReadOnly(t)
	assert.Contains(t, shell(t, c, "(echo >/dev/shm/other) 2>&1 || true"), "Read-only file system")
	assert.Empty(t, shell(t, a, "(echo >/dev/shm/other) 2>&1"))
	c.Cut(t)
	_, err := lab.Dial(t.Context(), "tcp", a.Address+":9")
	assert.ErrorIs(t, err, unix.ECONNREFUSED, "the host itself can be reached")
}

func TestDialReachesAHost(t *testing.T) {
	t.Parallel()
	lab := hosttest.New(t)
	h := lab.Host(t, "h", hosttest.Shm{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := lab.Dial(ctx, "tcp", h.Address+":9")
	require.ErrorIs(t, err, unix.ECONNREFUSED, "an answer of the host's own kernel")
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	h := hosttest.New(t).Host(t, "h", hosttest.Shm{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	sh := func(script string) *hosttest.Process {
		return h.Start(t, hosttest.Command{Path: "/bin/sh", Args: []string{"-c", script}, UID: 1234})
	}
	assert.Equal(t, 7, sh("exit 7").Wait(ctx, t))

	uid := sh("id -u; id -g")
	assert.Zero(t, uid.Wait(ctx, t))
	assert.Equal(t, "1234\n1234\n", uid.Stdout.String())

	p := sh("echo ready; read line </dev/zero")
	assert.Equal(t, "ready\n", p.Stdout.Await(ctx, t, "ready"))
	p.Stop()
	state := func() string {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
		require.NoError(t, err)
		return strings.Fields(string(status))[2]
	}
	assert.Eventually(t, func() bool { return state() == "T" }, 5*time.Second, time.Millisecond)
	p.Cont()
	assert.Eventually(t, func() bool { return state() != "T" }, 5*time.Second, time.Millisecond)
	p.Kill()
	assert.Equal(t, -1, p.Wait(ctx, t))
}

// TestNothingIsLeft builds and ends a lab in an inner test and looks at what the process and the machine still have of it.
func TestNothingIsLeft(t *testing.T) {
	hosttest.Require(t)
	namespaces := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		n := 0
		for _, fd := range fds {
			if target, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasPrefix(target, "net:[") {
				n++
			}
		}
		return n
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	before := namespaces()
	var p *hosttest.Process
	t.Run("lab", func(t *testing.T) {
		h := hosttest.New(t).Host(t, "h", hosttest.Shm{})
		p = h.Start(t, hosttest.Command{Path: "/bin/sh", Args: []string{"-c", "sleep 100"}})
	})
	assert.Equal(t, before, namespaces())
	assert.NoDirExists(t, fmt.Sprintf("/proc/%d", p.PID()))
	after, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	assert.Equal(t, string(mounts), string(after))
}

func BenchmarkHost(b *testing.B) {
	lab := hosttest.New(b)
	for b.Loop() {
		lab.Host(b, "h", hosttest.Shm{})
	}
}
