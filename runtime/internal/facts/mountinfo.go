package facts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mount is a line of /proc/self/mountinfo (see proc_pid_mountinfo(5)).
type mount struct {
	// device is major:minor; root is what of the filesystem is mounted, point where.
	device, root, point string
	filesystem, source  string
	// options are those of the filesystem; a cgroup of version 1 lists its controllers there.
	options  []string
	readOnly bool
}

// mounts reads the mounts of this process. Without them shared memory is asked all the same, and nothing is known of
// cgroups.
func (r *reading) mounts() []mount {
	text, err := readText(r.Proc+"/self/mountinfo", maxMountinfo)
	if err != nil {
		r.absent(err, "shm.source")
	}
	return parseMountinfo(text)
}

// parseMountinfo returns the mounts in the order of the text, where a later one on the same point hides the earlier.
// What is not a mount is left out.
func parseMountinfo(text string) []mount {
	var list []mount
	for line := range strings.SplitSeq(text, "\n") {
		// A source may be empty, so that fields are not split at runs of spaces.
		fields := strings.Split(line, " ")
		if len(fields) < 6 {
			continue
		}
		dash := slices.Index(fields[6:], "-") + 6 // behind any number of optional fields
		if dash < 6 || len(fields) < dash+4 {
			continue
		}
		m := mount{
			device: fields[2], root: unescape(fields[3]), point: unescape(fields[4]),
			filesystem: unescape(fields[dash+1]), source: unescape(fields[dash+2]), options: strings.Split(fields[dash+3], ","),
		}
		m.readOnly = slices.Contains(strings.Split(fields[5], ","), "ro") || slices.Contains(m.options, "ro")
		list = append(list, m)
	}
	return list
}

// unescape undoes how the kernel writes spaces, tabs, newlines, backslashes and the like: \040.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if code, ok := octal(text[i:]); ok {
			b.WriteByte(code)
			i += 3
		} else {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

func octal(text string) (code byte, ok bool) {
	if len(text) < 4 || text[0] != '\\' || text[1] > '3' {
		return 0, false
	}
	for _, digit := range []byte(text[1:4]) {
		if digit < '0' || digit > '7' {
			return 0, false
		}
		code = code<<3 | (digit - '0')
	}
	return code, true
}

// covering returns the mount that a path is on: the last of those with the longest mount point. A device narrows that
// to mounts of it, since a mount on a directory above hides those below, which stay in the list. It is nil if there is
// none.
func covering(mounts []mount, path, device string) *mount {
	var found *mount
	for i := range mounts {
		m := &mounts[i]
		_, below := relative(path, m.point)
		if below && (device == "" || device == m.device) && (found == nil || len(m.point) >= len(found.point)) {
			found = m
		}
	}
	return found
}

// relative returns the part of a clean path below a directory, "" for the directory itself.
func relative(path, dir string) (rest string, below bool) {
	rest, below = strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return rest, below && (rest == "" || rest[0] == '/')
}

// maxLinks is more links than anyone puts in the place of /dev/shm.
const maxLinks = 8

// locate follows the path where it is a link, as to /run/shm, and returns the mount that covers it. It looks at nothing
// that is on a mount where that may wait.
func locate(path string, mounts []mount) (string, *mount) {
	for range maxLinks {
		m := covering(mounts, path, "")
		if m == nil || !m.local() {
			return path, m
		}
		target, err := os.Readlink(path)
		if err != nil {
			return path, m // it is no link
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = filepath.Clean(target)
	}
	return path, covering(mounts, path, "")
}

// local tells filesystems that answer by themselves. Others, such as nfs or fuse, wait for a server, which may be gone:
// a stat there never returns, and no deadline ends it.
func (m *mount) local() bool {
	switch m.filesystem {
	case "tmpfs", "ramfs", "rootfs", "devtmpfs", "hugetlbfs", "overlay", "aufs",
		"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "squashfs", "erofs":
		return true
	}
	return false
}
