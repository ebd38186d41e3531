package probe

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Every failure has the errno and what an operator needs to act: the call, the sizes, the users, the fix.
func TestStagesThatFail(t *testing.T) {
	const free = `^open a new file in /dev/shm: no space left on device; /dev/shm has \d+ of \d+ bytes and `
	for stage, want := range map[string]struct {
		errno, detail string
		// read is the outcome of a segment that the parent holds in its own /dev/shm.
		read, readErrno, readDetail string
	}{
		"full": {
			"ENOSPC", `^fallocate in /dev/shm: no space left on device; /dev/shm has 0 of 65536 bytes and \d+ of \d+ inodes free; ` +
				`remove stale files from it or mount it larger$`,
			v1.NotShared, "ENOENT", `is not the one of the rank that made it$`,
		},
		"one inode": {
			"ENOSPC", free + `0 of 1 inodes free; remove stale files`,
			v1.NotShared, "ENOENT", ``,
		},
		"read-only": {
			"EROFS", `^open a new file in /dev/shm: read-only file system; /dev/shm is mounted read-only; mount it read-write$`,
			v1.Unknown, "EROFS", `^open /dev/shm/tiergate-probe-\w+: read-only file system; /dev/shm is mounted read-only`,
		},
		"ramfs": {
			NotTmpfs, `^/dev/shm is no tmpfs but a file system of type 0x858458f6; mount a tmpfs there`,
			v1.Unknown, NotTmpfs, `mount a tmpfs there`,
		},
		"none": {
			"ENOENT", `^statfs /dev/shm: no such file or directory; nothing is mounted at /dev/shm; mount a tmpfs there`,
			v1.Unknown, "ENOENT", `nothing is mounted`,
		},
		"no descriptors": {
			"EMFILE", `^open a new file in /dev/shm: too many open files; this process has no file descriptor left; raise its limit`,
			v1.Unknown, "EMFILE", `raise its limit`,
		},
		"other user, closed directory": {
			"EACCES", `permission denied; this process runs as uid 65534; /dev/shm has mode 0700 and belongs to uid 0$`,
			v1.Unknown, "EACCES", `/dev/shm has mode 0700 and belongs to uid 0$`,
		},
	} {
		t.Run(stage, func(t *testing.T) {
			held := made(t, Shm)
			r := onStage(t, stage, held.Name())
			if assert.NotNil(t, r.Made) {
				assert.Equal(t, want.errno, r.Made.Errno)
				assert.Regexp(t, want.detail, r.Made.Detail)
			}
			assert.Equal(t, want.read, r.Read.Outcome)
			assert.Empty(t, r.Read.Nonce)
			assert.Equal(t, want.readErrno, r.Read.Error.Errno)
			assert.Regexp(t, want.readDetail, r.Read.Error.Detail)
		})
	}
}

// A directory of an image or a disk is no shared memory, whatever is in it.
func TestNotTmpfs(t *testing.T) {
	dir := t.TempDir()
	if onTmpfs(dir) == nil {
		dir = "/proc"
	}
	s, fail := Make(dir)
	assert.Nil(t, s)
	assert.Equal(t, NotTmpfs, fail.Errno)
	_ = os.WriteFile(filepath.Join(dir, someName), encode(nonce{}), 0o600)
	answer := Read(dir, someName)
	assert.Equal(t, v1.Unknown, answer.Outcome)
	assert.Equal(t, NotTmpfs, answer.Error.Errno)
	assert.Zero(t, Sweep(dir))
}

func TestSameHost(t *testing.T) {
	held := made(t, Shm)
	r := onStage(t, "as it is", held.Name())
	assert.Nil(t, r.Made)
	assert.Equal(t, v1.Shared, r.Read.Outcome)
	assert.Equal(t, Read(Shm, held.Name()).Nonce, r.Read.Nonce)
	assert.Equal(t, v1.Shared, r.Reread.Outcome)
}

func TestOtherHost(t *testing.T) {
	held := made(t, Shm)
	r := onStage(t, "own", held.Name())
	assert.Nil(t, r.Made)
	assert.Equal(t, v1.NotShared, r.Read.Outcome)
	assert.Equal(t, "ENOENT", r.Read.Error.Errno)
	assert.Equal(t, v1.Shared, r.Reread.Outcome, "its own")
	assert.Empty(t, r.Left)
}

// The segment of another user is there, which is not the same as being on another node.
func TestOtherUser(t *testing.T) {
	held := made(t, Shm)
	r := onStage(t, "other user", held.Name())
	assert.Nil(t, r.Made, "it can make its own")
	assert.Equal(t, v1.Shared, r.Reread.Outcome)
	assert.Equal(t, v1.Unknown, r.Read.Outcome)
	assert.Equal(t, "EACCES", r.Read.Error.Errno)
	assert.Contains(t, r.Read.Error.Detail, "it is shared but not permitted: it belongs to uid 0 and has mode 0600, "+
		"this process runs as uid 65534; run all workers as one user")

	missing := onStage(t, "other user", someName)
	assert.Equal(t, v1.NotShared, missing.Read.Outcome, "nothing is there at all")
}

// Another user's sweep leaves what it cannot open, and does not fail.
func TestOtherUsersOrphan(t *testing.T) {
	orphan, fail := Make(Shm)
	assert.Nil(t, fail)
	path := filepath.Join(Shm, orphan.Name())
	t.Cleanup(func() { _ = os.Remove(path) })
	assert.NoError(t, os.NewFile(uintptr(orphan.fd), path).Close())
	r := onStage(t, "other user", someName)
	assert.Zero(t, r.Swept)
	assert.FileExists(t, path)
}

// Without /proc a file can get its name only by a call that old kernels keep for root.
func TestNoProc(t *testing.T) {
	held := made(t, Shm)
	root := onStage(t, "no proc", held.Name())
	assert.Nil(t, root.Made)
	assert.Equal(t, v1.Shared, root.Read.Outcome)
	assert.Equal(t, v1.Shared, root.Reread.Outcome)
	if user := onStage(t, "other user, no proc", held.Name()); user.Made != nil {
		assert.Equal(t, NoProc, user.Made.Errno)
		assert.Contains(t, user.Made.Detail, "mount /proc in this container")
	}
}
