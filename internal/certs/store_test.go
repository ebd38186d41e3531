package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/certs/certstest"
)

// mounted is a directory as Kubernetes mounts a Secret: links into a folder that ..data names.
type mounted struct {
	t   testing.TB
	dir string
	n   int
}

func mount(t testing.TB) *mounted {
	m := &mounted{t: t, dir: t.TempDir()}
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		require.NoError(t, os.Symlink("..data/"+name, m.path(name)))
	}
	return m
}

func (m *mounted) path(name string) string { return filepath.Join(m.dir, name) }

// put swaps the content for a pair that an authority issues.
func (m *mounted) put(a *certstest.Authority, names certstest.Names) {
	m.t.Helper()
	m.n++
	folder := m.path(strings.Repeat("r", m.n))
	require.NoError(m.t, os.Mkdir(folder, 0o700))
	a.Files(folder, names)
	require.NoError(m.t, os.Symlink(filepath.Base(folder), m.path("..new")))
	require.NoError(m.t, os.Rename(m.path("..new"), m.path("..data")))
}

func (m *mounted) open(change func(*Options)) *Store {
	m.t.Helper()
	opts := Options{Cert: m.path("tls.crt"), Key: m.path("tls.key"), CA: m.path("ca.crt")}
	if change != nil {
		change(&opts)
	}
	s, err := Open(opts)
	require.NoError(m.t, err)
	return s
}

// echo serves one line at a time over TLS.
func echo(t testing.TB, config *tls.Config) (addr string) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close() //nolint:errcheck // a test's connection
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return l.Addr().String()
}

// speak sends a line over a connection and reads it back.
func speak(conn net.Conn) error {
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Write([]byte("hello")); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 5))
	return err
}

func dial(t testing.TB, client *Store, addr string) (net.Conn, error) {
	t.Helper()
	conn, err := client.DialTLS(t.Context(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, speak(conn)
}

func TestRotationOfEverything(t *testing.T) {
	old, next := certstest.New(t), certstest.New(t)
	serverFiles, clientFiles := mount(t), mount(t)
	serverFiles.put(old, certstest.Loopback)
	clientFiles.put(old, certstest.Names{Common: "worker"})
	server, client := serverFiles.open(nil), clientFiles.open(nil)
	addr := echo(t, server.Server(true))

	early, err := dial(t, client, addr)
	require.NoError(t, err)
	serverFiles.put(next, certstest.Loopback)
	_, err = dial(t, client, addr)
	require.NoError(t, err, "nothing changes before the files are looked at")
	server.reload()
	_, err = dial(t, client, addr)
	require.ErrorContains(t, err, "certificate signed by unknown authority")
	clientFiles.put(next, certstest.Names{Common: "worker"})
	client.reload()
	_, err = dial(t, client, addr)
	require.NoError(t, err)
	assert.NoError(t, speak(early), "connections that are open go on")
	assert.Equal(t, []int64{1, 0}, []int64{server.State().Reloads, server.State().Failures})
}

func TestOnlyWhatIsWholeReplaces(t *testing.T) {
	a := certstest.New(t)
	files := mount(t)
	files.put(a, certstest.Loopback)
	var said bytes.Buffer
	s := files.open(func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&said, nil)) })
	addr := echo(t, s.Server(false))
	client := &Store{}
	m, err := load(&Options{CA: files.path("ca.crt")}, time.Now())
	require.NoError(t, err)
	client.adopt(m)

	_, strange := certstest.New(t).Issue(certstest.Loopback)
	good, err := os.ReadFile(files.path("tls.key"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files.path("tls.key"), strange, 0o600)) // half of a rotation
	for range 3 {
		s.reload()
	}
	assert.Equal(t, 1, strings.Count(said.String(), "certificates not reloaded"), said.String())
	assert.Contains(t, said.String(), "private key does not match public key")
	_, err = dial(t, client, addr)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files.path("tls.key"), good, 0o600))
	s.reload()
	expired := certstest.Loopback
	expired.NotAfter = time.Now().Add(-time.Minute)
	files.put(a, expired)
	s.reload()
	assert.Contains(t, said.String(), "expired at")
	_, err = dial(t, client, addr)
	require.NoError(t, err)
	assert.Equal(t, []int64{0, 2}, []int64{s.State().Reloads, s.State().Failures})
	assert.True(t, s.State().NotAfter.After(time.Now()))
}

func TestWhoIsBelieved(t *testing.T) {
	a, other := certstest.New(t), certstest.New(t)
	files, foreign, wrongName := mount(t), mount(t), mount(t)
	files.put(a, certstest.Loopback)
	foreign.put(other, certstest.Names{Common: "worker"})
	wrongName.put(a, certstest.Names{Common: "elsewhere", DNS: []string{"elsewhere.example"}})
	onlyCA := func(o *Options) { o.Cert, o.Key = "", "" }
	open, strict := echo(t, files.open(nil).Server(false)), echo(t, files.open(nil).Server(true))

	_, err := dial(t, files.open(onlyCA), open)
	require.NoError(t, err, "a client may show nothing")
	_, err = dial(t, files.open(onlyCA), strict)
	require.ErrorContains(t, err, "certificate required")
	_, err = dial(t, foreign.open(func(o *Options) { o.CA = files.path("ca.crt") }), open)
	require.ErrorContains(t, err, "certificate", "what it shows must be vouched for")
	_, err = dial(t, foreign.open(onlyCA), open)
	require.ErrorContains(t, err, "unknown authority", "somebody in between")
	_, err = dial(t, files.open(onlyCA), echo(t, wrongName.open(nil).Server(false)))
	require.ErrorContains(t, err, "cannot validate certificate for 127.0.0.1", "a name counts for addresses too")
	_, err = tls.Dial("tcp", open, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, InsecureSkipVerify: true}) //nolint:gosec // what must fail
	require.ErrorContains(t, err, "protocol version")
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	files := mount(t)
	files.put(certstest.New(t), certstest.Loopback)
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("no PEM"), 0o600))
	for _, test := range []struct {
		opts Options
		want string
	}{
		{Options{Cert: "absent.crt", Key: "absent.key"}, "read certificate: open absent.crt: no such file or directory\nopen absent.key: no such file or directory"},
		{Options{Cert: text, Key: files.path("tls.key")}, "read certificate: " + text + " and " + files.path("tls.key") + ": tls: failed to find any PEM data in certificate input"},
		{Options{CA: text}, "read CA: " + text + " has no certificate in PEM"},
	} {
		_, err := Open(test.opts)
		assert.EqualError(t, err, test.want)
	}
}

func TestRunReloads(t *testing.T) {
	a := certstest.New(t)
	files := mount(t)
	files.put(a, certstest.Loopback)
	s := files.open(func(o *Options) { o.Interval = time.Millisecond })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	files.put(a, certstest.Loopback)
	require.Eventually(t, func() bool { return s.State().Reloads == 1 }, 10*time.Second, time.Millisecond)
	stop()
	<-ended
}
