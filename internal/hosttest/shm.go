package hosttest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const shmPath = "/dev/shm"

// Shm is what is mounted at /dev/shm. The zero value is what container runtimes give: a tmpfs of 64 MiB.
type Shm struct {
	Bytes  int64
	Inodes int64
	// ReadOnly: nothing can be created in it.
	ReadOnly bool
	// NotTmpfs: another file system in memory, which is not what vLLM's region needs.
	NotTmpfs bool
}

func (s Shm) mount() error {
	kind, options := "tmpfs", "mode=1777"
	if s.NotTmpfs {
		kind = "ramfs"
	} else {
		bytes := s.Bytes
		if bytes == 0 {
			bytes = 64 << 20
		}
		options += ",size=" + strconv.FormatInt(bytes, 10)
		if s.Inodes != 0 {
			options += ",nr_inodes=" + strconv.FormatInt(s.Inodes, 10)
		}
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if s.ReadOnly {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount("shm", shmPath, kind, flags, options); err != nil {
		return fmt.Errorf("mount %s: %w", shmPath, err)
	}
	return nil
}

// Segments are the names of the files in the host's /dev/shm.
func (h *Host) Segments(t testing.TB) []string {
	t.Helper()
	names := []string{}
	require.NoError(t, h.thread.do(func() error {
		entries, err := os.ReadDir(shmPath)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return err
	}))
	return names
}

// Fill leaves no byte free in /dev/shm, FillInodes no inode; Drain removes what they made.
func (h *Host) Fill(t testing.TB) {
	t.Helper()
	require.NoError(t, h.thread.do(func() error {
		var free unix.Statfs_t
		if err := unix.Statfs(shmPath, &free); err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(shmPath, "filling"))
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.Fallocate(int(f.Fd()), 0, 0, int64(free.Bavail)*free.Bsize)
	}))
}

// FillInodes is for a host whose Shm has few Inodes.
func (h *Host) FillInodes(t testing.TB) {
	t.Helper()
	require.NoError(t, h.thread.do(func() error {
		for i := 0; ; i++ {
			err := os.WriteFile(filepath.Join(shmPath, fmt.Sprintf("filling-%d", i)), nil, 0o600)
			if errors.Is(err, unix.ENOSPC) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}))
}

// Drain makes room again.
func (h *Host) Drain(t testing.TB) {
	t.Helper()
	require.NoError(t, h.thread.do(func() error {
		filling, err := filepath.Glob(filepath.Join(shmPath, "filling*"))
		for _, name := range filling {
			err = errors.Join(err, os.Remove(name))
		}
		return err
	}))
}

// MakeReadOnly lets nobody write to /dev/shm on this host, but on those that share it. It fails while a process of this host
// has a file there open for writing.
func (h *Host) MakeReadOnly(t testing.TB) {
	t.Helper()
	require.NoError(t, h.thread.do(func() error {
		const flags = unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
		return unix.Mount("", shmPath, "", flags, "")
	}))
}

// Exists tells whether a path is there on the host, whose view of the file system is the machine's but for /dev/shm.
func (h *Host) Exists(t testing.TB, path string) bool {
	t.Helper()
	err := h.thread.do(func() error {
		_, err := os.Lstat(path)
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	return err == nil
}
