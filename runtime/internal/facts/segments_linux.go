package facts

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime/internal/probe"
)

// regionPrefix begins the names of CPU regions, vllm_offload_ENGINE.mmap (vLLM's SharedOffloadRegion).
const regionPrefix = "vllm_offload_"

// Bounds of a listing: registration does not wait for more, and a report that every rank sends has to stay small.
const (
	maxEntries = 10000
	maxRegions = 64
)

// listing sorts the files of /dev/shm.
type listing struct {
	stale   []v1.StaleRegion
	foreign v1.ForeignSegments
	// undecided regions may be in use or not, for the reason of the first.
	undecided int
	first     error
}

// segments lists what is in /dev/shm. Bytes are those allocated, which is what a removal would free: regions are
// sparse.
func (r *reading) segments(dir int, path string) {
	names, err := entries(dir, path)
	if err != nil {
		r.absent(err, "shm.stale_regions", "shm.foreign")
		return
	}
	complete := len(names) <= maxEntries
	if !complete {
		names = names[:maxEntries]
		r.absent(fmt.Errorf("%s has more than %d files, the rest was not looked at", path, maxEntries),
			"shm.stale_regions", "shm.foreign")
	}
	var l listing
	for _, name := range names {
		l.add(dir, name)
	}
	if l.undecided > 0 {
		r.absent(fmt.Errorf("%d %s* files may belong to running engines: %w", l.undecided, regionPrefix, l.first),
			"shm.stale_regions")
	}
	shm := r.facts.Shm
	shm.Foreign = &l.foreign
	slices.SortFunc(l.stale, func(a, b v1.StaleRegion) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	if len(l.stale) > maxRegions {
		r.absent(fmt.Errorf("%d are left over, the largest %d are listed", len(l.stale), maxRegions), "shm.stale_regions")
		l.stale = l.stale[:maxRegions]
	}
	shm.StaleRegions = l.stale
	if l.stale == nil && complete && l.undecided == 0 {
		shm.StaleRegions = []v1.StaleRegion{} // somebody looked, and there are none
	}
}

// entries returns at most one name more than are looked at.
func entries(dir int, path string) ([]string, error) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	names, err := f.Readdirnames(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return names, nil
}

// add counts one file. A directory counts as one, without what is in it.
func (l *listing) add(dir int, name string) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return // removed meanwhile
	}
	allocated := st.Blocks * 512
	switch {
	case strings.HasPrefix(name, probe.Prefix):
	case strings.HasPrefix(name, regionPrefix) && st.Mode&unix.S_IFMT == unix.S_IFREG:
		used, err := inUse(dir, name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil:
			if l.undecided++; l.first == nil {
				l.first = err
			}
		case !used:
			l.stale = append(l.stale, v1.StaleRegion{Name: strings.ToValidUTF8(name, "?"), Bytes: allocated})
		}
	default:
		l.foreign.Count++
		l.foreign.Bytes += allocated
	}
}

// inUse tells whether any process of this kernel has a file open or mapped for writing, as every process of an engine
// has its region. It asks for a read lease, which the kernel refuses then (fcntl(2), F_SETLEASE). Pid namespaces hide
// processes from /proc, but nothing hides a writer from that. The file has to be ours, or CAP_LEASE.
//
// Who opens the file for writing while the lease is held waits until it is given back, some microseconds later. The
// kernel then also signals us: SIGURG, since SIGIO, the default, would end a process that does not expect it.
func inUse(dir int, name string) (bool, error) {
	fail := func(op string, err error) (bool, error) { return false, &fs.PathError{Op: op, Path: name, Err: err} }
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail("open", err)
	}
	defer unix.Close(fd)
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETSIG, int(unix.SIGURG)); err != nil {
		return fail("set signal of", err)
	}
	switch _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); {
	case errors.Is(err, unix.EAGAIN):
		return true, nil
	case err != nil:
		return fail("lease", err)
	}
	// Closing would do, but not if the process forked meanwhile: the child has a copy of the descriptor.
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK); err != nil {
		return fail("give back lease of", err)
	}
	return false, nil
}
