package probe

import (
	"os"

	"golang.org/x/sys/unix"
)

// The most names that one sweep looks at, and the most segments that it tries: a directory full of other files must not
// delay a registration.
const (
	maxNames = 16384
	maxTried = 256
)

// Sweep removes the segments in dir whose makers are gone, and returns how many. A live maker holds the lock from
// before the segment has its name until after it lost it, so a lock that is free means that nobody will. Process ids
// would not tell: they differ between the containers that share the directory. What cannot be opened belongs to others
// and is left.
func Sweep(dir string) (removed int) {
	if onTmpfs(dir) != nil {
		return 0
	}
	f, err := os.Open(dir)
	if err != nil {
		return 0
	}
	names, _ := f.Readdirnames(maxNames)
	_ = f.Close()
	tried := 0
	for _, name := range names {
		if !valid(name) {
			continue
		}
		if tried++; tried > maxTried {
			break
		}
		if sweepOne(dir + "/" + name) {
			removed++
		}
	}
	return removed
}

// sweepOne removes a segment if it is one and its lock is free.
func sweepOne(path string) bool {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd) //nolint:errcheck // it gives the lock back
	var stat unix.Stat_t
	if unix.Fstat(fd, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil && unix.Unlink(path) == nil
}
