package probe

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// These variables make the test binary build one of the stages, read a segment there, and make one.
const (
	stageVariable = "TIERGATE_PROBE_STAGE"
	nameVariable  = "TIERGATE_PROBE_NAME"
)

// report is what the process on a stage found.
type report struct {
	Made   *v1.LocalFail
	Read   v1.ProbeAnswer
	Reread v1.ProbeAnswer
	Swept  int
	// Left are the names in its /dev/shm in the end.
	Left []string
	// Open counts the descriptors that are open in the end and were not at first.
	Open int
}

func TestMain(m *testing.M) {
	stage := os.Getenv(stageVariable)
	if stage == "" {
		os.Exit(m.Run())
	}
	warm, err := os.Open(Shm) // makes Go open its poller, for good
	must(err)
	must(warm.Close())
	stages[stage]()
	before := descriptors()
	r := report{Read: Read(Shm, os.Getenv(nameVariable))}
	segment, fail := Make(Shm)
	if r.Made = fail; fail == nil {
		r.Reread = Read(Shm, segment.Name())
		r.Swept = Sweep(Shm)
		must(segment.Remove())
	}
	r.Open = descriptors() - before
	must(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 256, Max: 256}))
	entries, _ := os.ReadDir(Shm)
	for _, e := range entries {
		r.Left = append(r.Left, e.Name())
	}
	must(json.NewEncoder(os.Stdout).Encode(r))
}

// stages are what is mounted, limited or taken away before, in a mount namespace of their own.
var stages = map[string]func(){
	"as it is":   func() {},
	"own":        func() { mountShm("tmpfs", "size=1m") },
	"full":       func() { mountShm("tmpfs", "size=64k"); fill() },
	"one inode":  func() { mountShm("tmpfs", "size=1m,nr_inodes=1") },
	"ramfs":      func() { mountShm("ramfs", "") },
	"plain":      func() { must(unix.Mount(os.TempDir(), Shm, "", unix.MS_BIND, "")) },
	"none":       func() { must(unix.Mount("dev", "/dev", "tmpfs", 0, "")) },
	"no proc":    func() { must(unix.Unmount("/proc", unix.MNT_DETACH)) },
	"read-only":  func() { readOnly() },
	"other user": func() { otherUser() },
	"other user, closed directory": func() {
		mountShm("tmpfs", "size=1m,mode=0700")
		otherUser()
	},
	"other user, no proc": func() {
		must(unix.Unmount("/proc", unix.MNT_DETACH))
		otherUser()
	},
	"no descriptors": func() { must(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: 256})) },
}

func mountShm(filesystem, options string) {
	must(unix.Mount("stage", Shm, filesystem, 0, options))
}

func readOnly() {
	must(unix.Mount(Shm, Shm, "", unix.MS_BIND, ""))
	must(unix.Mount("", Shm, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
}

func fill() {
	f, err := os.Create(Shm + "/filler")
	must(err)
	var fs unix.Statfs_t
	must(unix.Statfs(Shm, &fs))
	must(unix.Fallocate(int(f.Fd()), 0, 0, int64(fs.Bavail)*fs.Bsize))
	must(f.Close())
}

func otherUser() {
	must(syscall.Setgroups(nil))
	must(syscall.Setgid(65534))
	must(syscall.Setuid(65534))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// descriptors counts those that are open, without opening one.
func descriptors() (open int) {
	for fd := range 256 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			open++
		}
	}
	return open
}

// onStage has a process of its own read the named segment, and make one, on a stage.
func onStage(t *testing.T, stage, name string) report {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounts and other users need root")
	}
	cmd := exec.Command(os.Args[0])
	// The race detector would sleep a second at the end of each process.
	cmd.Env = append(os.Environ(), stageVariable+"="+stage, nameVariable+"="+name, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var r report
	require.NoError(t, json.Unmarshal(out, &r))
	require.Zero(t, r.Open, "descriptors left open")
	return r
}
