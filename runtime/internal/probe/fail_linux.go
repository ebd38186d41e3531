package probe

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// failure is a failed call as data, with what an operator can do about it.
func failure(dir, call, path string, err error) *v1.LocalFail {
	detail := fmt.Sprintf("%s %s: %v", call, path, err)
	if more := advice(dir, err); more != "" {
		detail += "; " + more
	}
	return &v1.LocalFail{Errno: errnoName(err), Detail: detail}
}

func errnoName(err error) string {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return err.Error()
	}
	if name := unix.ErrnoName(errno); name != "" {
		return name
	}
	return fmt.Sprintf("errno %d", int(errno))
}

func advice(dir string, err error) string {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.ENOMEM):
		return space(dir)
	case errors.Is(err, unix.EROFS):
		return dir + " is mounted read-only; mount it read-write"
	case errors.Is(err, unix.EMFILE):
		return "this process has no file descriptor left; raise its limit (ulimit -n) or find what leaks them"
	case errors.Is(err, unix.ENFILE):
		return "this machine has no file descriptor left; raise fs.file-max or find what leaks them"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Sprintf("this process runs as uid %d; %s", os.Geteuid(), permissions(dir))
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR):
		return "this kernel or sandbox cannot make a file without a name (O_TMPFILE) there"
	case errors.Is(err, unix.ENOENT):
		return "nothing is mounted at " + dir + "; mount a tmpfs there (Kubernetes: emptyDir with medium Memory)"
	}
	return ""
}

// space tells bytes from inodes: either can be used up, and ENOSPC is all the kernel says.
func space(dir string) string {
	var fs unix.Statfs_t
	if err := retry(func() error { return unix.Statfs(dir, &fs) }); err != nil {
		return fmt.Sprintf("statfs %s: %v", dir, err)
	}
	text := fmt.Sprintf("%s has %d of %d bytes and %d of %d inodes free", dir, int64(fs.Bavail)*fs.Bsize,
		int64(fs.Blocks)*fs.Bsize, fs.Ffree, fs.Files)
	if fs.Blocks != 0 && fs.Bavail == 0 || fs.Files != 0 && fs.Ffree == 0 {
		return text + "; remove stale files from it or mount it larger"
	}
	return text + "; look at the memory limit of this container, which its pages are charged to"
}

func permissions(dir string) string {
	var stat unix.Stat_t
	if err := retry(func() error { return unix.Stat(dir, &stat) }); err != nil {
		return fmt.Sprintf("stat %s: %v", dir, err)
	}
	return fmt.Sprintf("%s has mode %04o and belongs to uid %d", dir, stat.Mode&0o7777, stat.Uid)
}

// onTmpfs fails unless dir is a tmpfs.
func onTmpfs(dir string) *v1.LocalFail {
	var fs unix.Statfs_t
	if err := retry(func() error { return unix.Statfs(dir, &fs) }); err != nil {
		return failure(dir, "statfs", dir, err)
	}
	if fs.Type != unix.TMPFS_MAGIC {
		return &v1.LocalFail{Errno: NotTmpfs, Detail: fmt.Sprintf("%s is no tmpfs but a file system of type 0x%x; mount "+
			"a tmpfs there (Kubernetes: emptyDir with medium Memory)", dir, fs.Type)}
	}
	return nil
}

// retry repeats a call that a signal interrupted. Go's own scheduler sends signals all the time, and fallocate is not
// restarted by the kernel.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
