package probe

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Read opens the segment of that name in dir and answers for it, with the kind of group left open: shared with the
// nonce; not shared where there is no complete segment of that name; unknown where this process could not tell. It is
// opened for writing, because the region will be, and without O_CREAT, which fs.protected_regular would refuse.
func Read(dir, name string) v1.ProbeAnswer {
	if fail := readable(dir, name); fail != nil {
		return v1.ProbeAnswer{Outcome: v1.Unknown, Error: fail}
	}
	path := dir + "/" + name
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		return err
	})
	if err != nil {
		return unopened(dir, path, err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var stat unix.Stat_t
	if err := retry(func() error { return unix.Fstat(fd, &stat) }); err != nil {
		return v1.ProbeAnswer{Outcome: v1.Unknown, Error: failure(dir, "stat", path, err)}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return foreign(path, fmt.Sprintf("has mode %o and is no regular file", stat.Mode))
	}
	text := make([]byte, segmentSize+1)
	var size int
	err = retry(func() (err error) {
		size, err = unix.Pread(fd, text, 0)
		return err
	})
	if err != nil {
		return v1.ProbeAnswer{Outcome: v1.Unknown, Error: failure(dir, "read", path, err)}
	}
	n, complete := decode(text[:size])
	if !complete {
		return foreign(path, fmt.Sprintf("has %d bytes that are no segment", stat.Size))
	}
	return v1.ProbeAnswer{Outcome: v1.Shared, Nonce: hex.EncodeToString(n[:])}
}

// readable fails where it makes no sense to open anything.
func readable(dir, name string) *v1.LocalFail {
	switch {
	case name == "":
		return &v1.LocalFail{Errno: NoSegment, Detail: "the leader of the group has no segment that could be opened"}
	case !valid(name):
		return &v1.LocalFail{
			Errno: InvalidName, Detail: fmt.Sprintf("%.80q is not the name of a segment, and was not opened", name),
		}
	}
	return onTmpfs(dir)
}

// unopened says what it means that the segment could not be opened.
func unopened(dir, path string, err error) v1.ProbeAnswer {
	switch {
	case errors.Is(err, unix.ENOENT):
		return v1.ProbeAnswer{Outcome: v1.NotShared, Error: &v1.LocalFail{
			Errno: "ENOENT", Detail: path + " is not there: this " + dir + " is not the one of the rank that made it",
		}}
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return foreign(path, fmt.Sprintf("is no regular file (%v)", err))
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return v1.ProbeAnswer{Outcome: v1.Unknown, Error: forbidden(dir, path, err)}
	}
	return v1.ProbeAnswer{Outcome: v1.Unknown, Error: failure(dir, "open", path, err)}
}

// forbidden tells a segment that is there and belongs to somebody else from a directory that cannot be entered.
func forbidden(dir, path string, err error) *v1.LocalFail {
	var stat unix.Stat_t
	if retry(func() error { return unix.Lstat(path, &stat) }) != nil {
		return failure(dir, "open", path, err)
	}
	return &v1.LocalFail{Errno: errnoName(err), Detail: fmt.Sprintf("open %s: %v; it is shared but not permitted: it belongs "+
		"to uid %d and has mode %04o, this process runs as uid %d; run all workers as one user and with one security context "+
		"(Kubernetes: runAsUser, seLinuxOptions)", path, err, stat.Uid, stat.Mode&0o7777, os.Geteuid())}
}

func foreign(path, what string) v1.ProbeAnswer {
	return v1.ProbeAnswer{Outcome: v1.NotShared, Error: &v1.LocalFail{
		Errno: NotSegment, Detail: path + " " + what + "; it was not made by the leader of the group",
	}}
}
