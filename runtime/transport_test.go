package runtime

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/runtime/credentials"
)

// over registers two ranks over a real network, without injected connections.
func over(t *testing.T, url, shm string) []error {
	t.Helper()
	ranks := pair(t, &network{}, shm)
	for _, r := range ranks {
		r.gate.opts.URL, r.gate.connect = url, nil
	}
	return registerAll(context.Background(), ranks)
}

func TestTransports(t *testing.T) {
	unix := func(t *testing.T, h http.Handler) string {
		server := httptest.NewUnstartedServer(h)
		path := t.TempDir() + "/tiergate.sock"
		listener, err := net.Listen("unix", path)
		require.NoError(t, err)
		server.Listener = listener
		server.Start()
		t.Cleanup(server.Close)
		return "unix://" + path
	}
	tcp := func(t *testing.T, h http.Handler) string {
		server := httptest.NewServer(http.StripPrefix("/prefix", h))
		t.Cleanup(server.Close)
		return server.URL + "/prefix/"
	}
	// The environment's proxies must not be used; this one answers nothing.
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	for name, listen := range map[string]func(*testing.T, http.Handler) string{"unix": unix, "tcp": tcp} {
		t.Run(name, func(t *testing.T) {
			for _, err := range over(t, listen(t, newFake(2)), shmDir(t)) {
				require.NoError(t, err)
			}
		})
	}
}

func TestTraceOfAProcess(t *testing.T) {
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	assert.Equal(t, good, traceOf([]string{"A=b", "TRACEPARENT=" + good}))
	assert.Empty(t, traceOf([]string{"TRACEPARENT=00-xyz", "TRACE=" + good}))
}

// An untrusted certificate is not a service, and waiting does not make it one.
func TestUntrustedCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(newFake(2))
	server.Config.ErrorLog = quiet
	server.StartTLS()
	defer server.Close()
	r := pair(t, &network{}, shmDir(t))[0]
	r.gate.opts.URL, r.gate.connect, r.gate.opts.Deadline = server.URL, nil, time.Minute
	start := time.Now()
	err := r.register(context.Background())
	var unbelieved *credentials.Error
	require.ErrorAs(t, err, &unbelieved)
	assert.EqualError(t, err, "service "+server.URL+": the service's certificate is not believed: tls: failed to verify certificate: x509: "+
		"certificate signed by unknown authority; name who vouches for it in TIERGATE_CA")
	assert.Less(t, time.Since(start), time.Minute)
}

// Neither descriptors nor goroutines pile up over registrations, however they end.
func TestNothingIsLeft(t *testing.T) {
	shm, other := shmDir(t), shmDir(t)
	once := func(h http.Handler, want error, dirs ...string) {
		server := httptest.NewServer(h)
		ranks := pair(t, &network{}, dirs...)
		for _, r := range ranks {
			r.gate.opts.URL, r.gate.connect = server.URL, nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		if want == nil {
			ctx = context.Background()
		}
		for _, err := range registerAll(ctx, ranks) {
			if want != nil {
				assert.ErrorIs(t, err, want)
			} else if !errors.As(err, new(*RejectedError)) {
				assert.NoError(t, err)
			}
		}
		cancel()
		server.Close()
	}
	all := func() {
		once(newFake(2), nil, shm)
		once(newFake(2), nil, shm, other)
		stuck := newFake(2)
		stuck.intercept = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				hang(w, r)
			}
			return r.Method == http.MethodPut
		}
		once(stuck, context.DeadlineExceeded, shm)
	}
	all()
	descriptors, goroutines := openDescriptors(t), goruntime.NumGoroutine()
	for range 5 {
		all()
	}
	assert.Eventually(t, func() bool { // in a goroutine of its own
		return openDescriptors(t) <= descriptors && goruntime.NumGoroutine() <= goroutines+1
	}, 10*time.Second, 10*time.Millisecond)
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(entries)
}

// Whoever embeds the gate gets the standard library, golang.org/x/sys and the wire types, and nothing else.
func TestImports(t *testing.T) {
	list := func(args ...string) []string {
		out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
		if err != nil {
			t.Skipf("go list: %v", err)
		}
		return strings.Fields(string(out))
	}
	allowed := map[string]bool{
		"github.com/tiergate/tiergate/api/v1": true, "golang.org/x/sys/unix": true,
	}
	for _, path := range list("-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".") {
		if !strings.HasPrefix(path, "github.com/tiergate/tiergate/runtime") {
			assert.True(t, allowed[path], path)
		}
	}
}
