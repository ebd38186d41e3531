package rollout

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A full disk costs the copy, for as long as it is full.
func TestAFullDisk(t *testing.T) {
	state := t.TempDir()
	if err := unix.Mount("tmpfs", state, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("a small file system can be mounted by root alone: ", err)
	}
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(state, unix.MNT_DETACH)) })
	filler := filepath.Join(state, "filler")
	require.ErrorIs(t, os.WriteFile(filler, make([]byte, 1<<20), 0o600), unix.ENOSPC)

	s, web := newSite(t), newServer(t)
	web.give(pack(t, "bad", false))
	from := func(o *Options) { o.Sources, o.StateDir = []string{web.URL + "/site.tar.gz"}, state }
	r := s.open(from)
	assert.Equal(t, "deny", outcomeFor(t, r, "bad"))
	assert.Contains(t, s.said.String(), "no space left on device")
	require.NoError(t, os.Remove(filler))
	poll(t, r)
	assert.Contains(t, s.said.String(), "last good policy kept after all")
	left, err := filepath.Glob(filepath.Join(state, "*"))
	require.NoError(t, err)
	assert.Len(t, left, 1, "no parts are left behind")
	web.fail(503)
	assert.Equal(t, "deny", outcomeFor(t, s.open(from), "bad"))
}

// Neither a pipe nor a device may be read: the first would be waited for, the second may have no end.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	s := newSite(t)
	s.write("rules/naming.rego", naming("bad"))
	pipe := filepath.Join(s.dir, "rules/pipe.rego")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	_, err := s.tryOpen(nil)
	require.ErrorContains(t, err, "read pipe.rego: it is no regular file")
	_, err = s.tryOpen(func(o *Options) { o.Sources = []string{pipe} })
	require.ErrorContains(t, err, "pipe.rego is neither a directory nor a regular file")
	require.NoError(t, os.Remove(pipe))
	_, err = s.tryOpen(func(o *Options) { o.DataFile = "/dev/zero" })
	require.ErrorContains(t, err, "read policy: data /dev/zero: it is no regular file")
	large := s.write("large.yaml", string(bytes.Repeat([]byte("#"), maxFile+1)))
	_, err = s.tryOpen(func(o *Options) { o.DataFile = large })
	require.ErrorContains(t, err, "large.yaml: it has more than 33554432 bytes, which is what is allowed")
}
