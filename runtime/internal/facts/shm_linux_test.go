package facts

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// A server that is gone never answers, so that it must not be asked: here even the path does not exist.
func TestRemoteIsNotTouched(t *testing.T) {
	for _, filesystem := range []string{"nfs4", "fuse.sshfs", "9p", "autofs", "lustre"} {
		mounts := parseMountinfo("9 1 0:77 / /dev/none/shm ro - " + filesystem + " server:/export rw\n")
		r := reading{Collector: Collector{Shm: "/dev/none/shm"}}
		r.sharedMemory(mounts)
		assert.Equal(t, &v1.ShmFacts{Filesystem: filesystem, Source: "server:/export", ReadOnly: true}, r.facts.Shm)
		require.Len(t, r.facts.Absent, 8)
		assert.Equal(t, v1.AbsentFact{
			Fact: "shm.device", Reason: "/dev/none/shm is on " + filesystem + ", where asking may wait for a server",
		}, r.facts.Absent[0])
	}
}

// What mountinfo says of another mount than the one that was opened is not told of it.
func TestDeviceDecidesMount(t *testing.T) {
	dir := t.TempDir()
	var st unix.Stat_t
	require.NoError(t, unix.Stat(dir, &st))
	device := fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	line := "9 1 %s / " + dir + " ro - tmpfs %s rw\n"
	for name, test := range map[string]struct{ mountinfo, source, absent string }{
		"the last":  {fmt.Sprintf(line+line, device, "first", device, "last"), "last", ""},
		"a covered": {fmt.Sprintf(line+line, device, "ours", "0:9999", "other"), "ours", ""},
		"no such": {
			fmt.Sprintf(line, "0:9999", "other"), "",
			"shm.source: " + dir + " is on device " + device + ", of which no mount is listed there",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := reading{Collector: Collector{Shm: dir}}
			r.sharedMemory(parseMountinfo(test.mountinfo))
			assert.Equal(t, device, r.facts.Shm.Device)
			assert.Equal(t, st.Ino, r.facts.Shm.Inode)
			assert.Equal(t, test.source, r.facts.Shm.Source)
			assert.Equal(t, test.source != "", r.facts.Shm.ReadOnly)
			assert.Equal(t, test.absent, reasons(r.facts))
		})
	}
}

func TestNotADirectory(t *testing.T) {
	path := t.TempDir() + "/shm"
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	shm, absent := shmOf(path)
	assert.Nil(t, shm)
	assert.Equal(t, "shm: open "+path+": not a directory (ENOTDIR)", absent)
}

func TestFilesystemName(t *testing.T) {
	assert.Equal(t, "tmpfs", filesystemName(0x01021994))
	assert.Equal(t, "hugetlbfs", filesystemName(0x958458f6))
	assert.Equal(t, "0x0000abcd", filesystemName(0xabcd))
}

func TestSizesDoNotWrap(t *testing.T) {
	assert.EqualValues(t, 12, *product(3, 4))
	assert.EqualValues(t, math.MaxInt64, *product(1<<60, 4096))
	assert.EqualValues(t, math.MaxInt64, *product(math.MaxUint64, 1))
}
