package facts

import (
	"fmt"
	"io/fs"
	"math"
	"math/bits"
	"syscall"

	"golang.org/x/sys/unix"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// sharedMemory reads what /dev/shm is, how much room it has and what is in it.
func (r *reading) sharedMemory(mounts []mount) {
	path, m := locate(r.Shm, mounts)
	if m != nil && !m.local() {
		r.facts.Shm = &v1.ShmFacts{Filesystem: m.filesystem, Source: m.source, ReadOnly: m.readOnly}
		r.absent(fmt.Errorf("%s is on %s, where asking may wait for a server", path, m.filesystem), "shm.device", "shm.inode",
			"shm.total_bytes", "shm.free_bytes", "shm.total_inodes", "shm.free_inodes", "shm.stale_regions", "shm.foreign")
		return
	}
	// One descriptor for all questions: they are about one mount even if another is put on top meanwhile.
	dir, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		r.absent(&fs.PathError{Op: "open", Path: path, Err: err}, "shm")
		return
	}
	defer unix.Close(dir)
	r.facts.Shm = &v1.ShmFacts{}
	r.device(dir, path, mounts)
	r.room(dir, path)
	r.segments(dir, path)
}

// device reads which mount this is.
func (r *reading) device(dir int, path string, mounts []mount) {
	shm := r.facts.Shm
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		r.absent(&fs.PathError{Op: "stat", Path: path, Err: err}, "shm.device", "shm.inode", "shm.source")
		return
	}
	dev := uint64(st.Dev)
	shm.Device = fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev))
	shm.Inode = st.Ino
	switch m := covering(mounts, path, shm.Device); {
	case m != nil:
		shm.Source, shm.ReadOnly = m.source, m.readOnly
	case mounts != nil:
		r.absent(fmt.Errorf("%s is on device %s, of which no mount is listed there", path, shm.Device), "shm.source")
	}
}

// room reads sizes. A tmpfs without limits says 0 of 0, which is not "full".
func (r *reading) room(dir int, path string) {
	shm := r.facts.Shm
	var st unix.Statfs_t
	if err := unix.Fstatfs(dir, &st); err != nil {
		r.absent(&fs.PathError{Op: "statfs", Path: path, Err: err}, "shm.filesystem",
			"shm.total_bytes", "shm.free_bytes", "shm.total_inodes", "shm.free_inodes")
		return
	}
	shm.Filesystem = filesystemName(uint32(st.Type))
	shm.ReadOnly = shm.ReadOnly || st.Flags&unix.ST_RDONLY != 0
	unit := uint64(st.Frsize)
	if unit == 0 {
		unit = uint64(st.Bsize)
	}
	if st.Blocks == 0 {
		r.absent(fmt.Errorf("%s has no size limit (statfs says 0 blocks, which vLLM takes for no free space)", path),
			"shm.total_bytes", "shm.free_bytes")
	} else {
		shm.TotalBytes, shm.FreeBytes = product(st.Blocks, unit), product(st.Bavail, unit)
	}
	if st.Files == 0 {
		r.absent(fmt.Errorf("%s has no limit of inodes (statfs says 0)", path), "shm.total_inodes", "shm.free_inodes")
	} else {
		shm.TotalInodes, shm.FreeInodes = product(st.Files, 1), product(st.Ffree, 1)
	}
}

// product is at most the largest number that JSON's readers are asked to hold.
func product(count, unit uint64) *int64 {
	high, low := bits.Mul64(count, unit)
	n := int64(math.MaxInt64)
	if high == 0 && low < math.MaxInt64 {
		n = int64(low)
	}
	return &n
}

// filesystemName is the name of a filesystem by its magic number (statfs(2)), or that in hex.
func filesystemName(magic uint32) string {
	names := map[uint32]string{
		unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.HUGETLBFS_MAGIC: "hugetlbfs",
		unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs",
		unix.BTRFS_SUPER_MAGIC: "btrfs", unix.F2FS_SUPER_MAGIC: "f2fs", unix.NFS_SUPER_MAGIC: "nfs",
		unix.FUSE_SUPER_MAGIC: "fuse", unix.V9FS_MAGIC: "9p", unix.SQUASHFS_MAGIC: "squashfs",
		0x2fc12fc1: "zfs", // not in the kernel's own headers
	}
	if name, known := names[magic]; known {
		return name
	}
	return fmt.Sprintf("0x%08x", magic)
}

func errnoName(errno syscall.Errno) string { return unix.ErrnoName(errno) }
