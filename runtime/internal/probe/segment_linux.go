package probe

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Segment is a probe segment of this process, until Remove. It is not safe for concurrent use.
type Segment struct {
	dir, name string
	sum       [sha256.Size]byte
	fd        int
}

// Make makes a segment in dir, which is Shm outside tests. The file is filled and locked while it has no name yet, so
// that nobody ever sees an incomplete one and Sweep never takes one for stale. It is written and never mapped: a write
// to a full tmpfs is an error, where touching a mapping of it would be a SIGBUS.
func Make(dir string) (*Segment, *v1.LocalFail) {
	if fail := onTmpfs(dir); fail != nil {
		return nil, fail
	}
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		return err
	})
	if err != nil {
		return nil, failure(dir, "open a new file in", dir, err)
	}
	var n nonce
	var random [16]byte
	_, _ = rand.Read(n[:]) // it never fails, by its documentation
	_, _ = rand.Read(random[:])
	s := &Segment{dir: dir, name: Prefix + hex.EncodeToString(random[:]), sum: sha256.Sum256(n[:]), fd: fd}
	if fail := s.publish(n); fail != nil {
		_ = unix.Close(fd)
		return nil, fail
	}
	return s, nil
}

// publish fills the file, locks it and gives it its name.
func (s *Segment) publish(n nonce) *v1.LocalFail {
	if err := retry(func() error { return unix.Fallocate(s.fd, 0, 0, int64(segmentSize)) }); err != nil {
		return failure(s.dir, "fallocate in", s.dir, err)
	}
	if err := s.write(encode(n)); err != nil {
		return failure(s.dir, "write to", s.path(), err)
	}
	if err := retry(func() error { return unix.Flock(s.fd, unix.LOCK_EX|unix.LOCK_NB) }); err != nil {
		return failure(s.dir, "flock", s.path(), err)
	}
	return s.link()
}

func (s *Segment) write(text []byte) error {
	return retry(func() error {
		n, err := unix.Pwrite(s.fd, text, 0)
		if err == nil && n != len(text) {
			return unix.ENOSPC
		}
		return err
	})
}

// link works without privileges through /proc; without /proc, only kernels since 6.10 let the owner of a file link it
// directly, and older ones answer ENOENT.
func (s *Segment) link() *v1.LocalFail {
	through := "/proc/self/fd/" + strconv.Itoa(s.fd)
	err := retry(func() error {
		return unix.Linkat(unix.AT_FDCWD, through, unix.AT_FDCWD, s.path(), unix.AT_SYMLINK_FOLLOW)
	})
	if !errors.Is(err, unix.ENOENT) {
		if err != nil {
			return failure(s.dir, "link", s.path(), err)
		}
		return nil
	}
	if retry(func() error { return unix.Linkat(s.fd, "", unix.AT_FDCWD, s.path(), unix.AT_EMPTY_PATH) }) == nil {
		return nil
	}
	return &v1.LocalFail{
		Errno: NoProc, Detail: fmt.Sprintf("link %s to %s: %v; mount /proc in this container", through, s.path(), err),
	}
}

func (s *Segment) path() string { return s.dir + "/" + s.name }

// Name is the name of the file in its directory.
func (s *Segment) Name() string { return s.name }

// SHA256 is that of the nonce, in hex.
func (s *Segment) SHA256() string { return hex.EncodeToString(s.sum[:]) }

// Remove takes the name away and then the lock. A second call does nothing.
func (s *Segment) Remove() error {
	if s.fd < 0 {
		return nil
	}
	err := retry(func() error { return unix.Unlink(s.path()) })
	_ = unix.Close(s.fd)
	s.fd = -1
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove %s: %w", s.path(), err)
	}
	return nil
}

// valid tells whether a name is one that Make gives, so that no other file is ever opened or removed.
func valid(name string) bool {
	random, ours := strings.CutPrefix(name, Prefix)
	return ours && len(random) == 32 && strings.Trim(random, "0123456789abcdef") == ""
}
