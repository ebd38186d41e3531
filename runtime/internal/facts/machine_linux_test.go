package facts

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// stageVariable makes the test binary build one of the stages and print the facts that it sees there.
const stageVariable = "TIERGATE_FACTS_STAGE"

func TestMain(m *testing.M) {
	name := os.Getenv(stageVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	stages[name]()
	if err := json.NewEncoder(os.Stdout).Encode(Collect(os.Environ())); err != nil {
		panic(err)
	}
}

// stages are what is mounted before the facts are read, in a mount namespace of their own.
var stages = map[string]func(){
	"as it is": func() {},
	"small":    func() { mountShm("small", "tmpfs", 0, "size=1m,nr_inodes=16") },
	"read-only": func() {
		mountShm("ro", "tmpfs", unix.MS_RDONLY, "size=1m")
	},
	"read-only bind": func() {
		mountShm("bound", "tmpfs", 0, "size=1m")
		must(unix.Mount("/dev/shm", "/dev/shm", "", unix.MS_BIND, ""))
		must(unix.Mount("", "/dev/shm", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	},
	"unlimited": func() { mountShm("unlimited", "tmpfs", 0, "size=0,nr_inodes=0") },
	"stacked": func() {
		mountShm("below", "tmpfs", 0, "size=1m")
		mountShm("above it", "tmpfs", 0, "size=2m")
	},
	"hidden": func() {
		mountShm("hidden", "tmpfs", 0, "size=1m")
		must(unix.Mount("dev", "/dev", "tmpfs", 0, "size=3m"))
		must(os.Mkdir("/dev/shm", 0o1777))
	},
	"linked": func() {
		must(unix.Mount("dev", "/dev", "tmpfs", 0, "size=3m"))
		must(unix.Mount("run", "/run", "tmpfs", 0, "size=4m"))
		must(os.Mkdir("/run/shm", 0o1777))
		must(unix.Mount("run-shm", "/run/shm", "tmpfs", 0, "size=5m"))
		must(os.Symlink("/run/shm", "/dev/shm"))
	},
	"ramfs": func() { mountShm("ram", "ramfs", 0, "") },
	"gone": func() {
		must(unix.Mount("dev", "/dev", "tmpfs", 0, "size=3m"))
	},
	"read-only, mounts unknown": func() {
		mountShm("ro", "tmpfs", unix.MS_RDONLY, "size=1m")
		must(unix.Mount("/dev/null", "/proc/self/mountinfo", "", unix.MS_BIND, ""))
	},
	"another user": func() {
		mountShm("shared", "tmpfs", 0, "size=1m,mode=1777")
		must(os.WriteFile("/dev/shm/vllm_offload_1.mmap", []byte("x"), 0o600))
		must(syscall.Setgroups(nil))
		must(syscall.Setgid(65534))
		must(syscall.Setuid(65534))
	},
	"boot id": func() {
		must(os.WriteFile("/dev/shm/facts-boot-id", []byte(forgedBootID+"\n"), 0o400))
		must(unix.Mount("/dev/shm/facts-boot-id", "/proc/sys/kernel/random/boot_id", "", unix.MS_BIND, ""))
		must(os.Remove("/dev/shm/facts-boot-id"))
	},
	"unreadable boot id": func() {
		must(unix.Mount("/dev/null", "/proc/sys/kernel/random/boot_id", "", unix.MS_BIND, ""))
	},
}

const forgedBootID = "11111111-2222-3333-4444-555555555555"

func mountShm(source, filesystem string, flags uintptr, options string) {
	must(unix.Mount(source, "/dev/shm", filesystem, flags, options))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// onStage returns the facts that a process of its own reads on a stage.
func onStage(t *testing.T, name string) v1.NodeFacts {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounts need root")
	}
	return child(t, name, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS})
}

func child(t *testing.T, stage string, attr *syscall.SysProcAttr) v1.NodeFacts {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), stageVariable+"="+stage, "GORACE=atexit_sleep_ms=0") // else a second for each
	cmd.SysProcAttr = attr
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var facts v1.NodeFacts
	require.NoError(t, json.Unmarshal(out, &facts))
	return facts
}

func TestStages(t *testing.T) {
	mib := func(n int64) *int64 { n <<= 20; return &n }
	type shm struct {
		filesystem, source string
		readOnly           bool
		total              *int64
		absent             string
	}
	for name, want := range map[string]shm{
		"small":          {"tmpfs", "small", false, mib(1), ""},
		"read-only":      {"tmpfs", "ro", true, mib(1), ""},
		"read-only bind": {"tmpfs", "bound", true, mib(1), ""},
		"unlimited": {
			"tmpfs", "unlimited", false, nil, "shm.total_bytes: /dev/shm has no size limit (statfs says 0 blocks, which vLLM takes for " +
				"no free space); shm.free_bytes: /dev/shm has no size limit (statfs says 0 blocks, which vLLM takes for no free space); " +
				"shm.total_inodes: /dev/shm has no limit of inodes (statfs says 0); " +
				"shm.free_inodes: /dev/shm has no limit of inodes (statfs says 0)",
		},
		"stacked": {"tmpfs", "above it", false, mib(2), ""},
		"hidden":  {"tmpfs", "dev", false, mib(3), ""},
		"linked":  {"tmpfs", "run-shm", false, mib(5), ""},
	} {
		t.Run(name, func(t *testing.T) {
			facts := onStage(t, name)
			require.NotNil(t, facts.Shm)
			assert.Equal(t, want, shm{
				facts.Shm.Filesystem, facts.Shm.Source, facts.Shm.ReadOnly, facts.Shm.TotalBytes, reasons(facts),
			})
			assert.Equal(t, []v1.StaleRegion{}, facts.Shm.StaleRegions)
		})
	}
}

func TestSmallStage(t *testing.T) {
	shm := onStage(t, "small").Shm
	assert.EqualValues(t, 1<<20, *shm.FreeBytes)
	assert.EqualValues(t, 16, *shm.TotalInodes)
	assert.EqualValues(t, 15, *shm.FreeInodes, "the directory has one")
}

func TestRamfsStage(t *testing.T) {
	facts := onStage(t, "ramfs")
	assert.Equal(t, "ramfs", facts.Shm.Filesystem)
	assert.Nil(t, facts.Shm.FreeBytes, "0 of 0 is not full")
}

func TestNoShmStage(t *testing.T) {
	facts := onStage(t, "gone")
	assert.Nil(t, facts.Shm)
	assert.Equal(t, "shm: open /dev/shm: no such file or directory (ENOENT)", reasons(facts))
}

// Mount namespaces leave the kernel and its boot id as they are; only a mount on top of that file changes what is read.
func TestBootIDStages(t *testing.T) {
	here, there := Collect(nil), onStage(t, "small")
	assert.Equal(t, here.BootID, there.BootID)
	assert.NotEqual(t, here.Shm.Device, there.Shm.Device)
	assert.NotEqual(t, here.Namespaces["mnt"], there.Namespaces["mnt"])
	assert.Equal(t, here.Namespaces["ipc"], there.Namespaces["ipc"])
	assert.Equal(t, forgedBootID, onStage(t, "boot id").BootID)

	unreadable := onStage(t, "unreadable boot id")
	assert.Empty(t, unreadable.BootID)
	assert.Equal(t, "boot_id: /proc/sys/kernel/random/boot_id is not a regular file but Dc---------", reasons(unreadable))
}

// Without mounts most is known all the same.
func TestMountsUnknownStage(t *testing.T) {
	facts := onStage(t, "read-only, mounts unknown")
	assert.Equal(t, "tmpfs", facts.Shm.Filesystem)
	assert.NotEmpty(t, facts.Shm.Device)
	assert.True(t, facts.Shm.ReadOnly)
	assert.Empty(t, facts.Shm.Source)
	assert.Regexp(t, `^shm.source: /proc/self/mountinfo is not a regular file but Dc-+; memory: cgroup /.* is not below any mounted cgroup2?$`,
		reasons(facts))
}

// Whether another user's region is in use cannot be told: it is not called stale, and none is not said either.
func TestRegionOfAnotherUser(t *testing.T) {
	facts := onStage(t, "another user")
	assert.EqualValues(t, 65534, *facts.UID)
	assert.EqualValues(t, 65534, *facts.GID)
	assert.Nil(t, facts.Shm.StaleRegions)
	assert.Equal(t, "shm.stale_regions: 1 vllm_offload_* files may belong to running engines: "+
		"open vllm_offload_1.mmap: permission denied (EACCES)", reasons(facts))
}

// A region is seen to be in use across pid namespaces, in which /proc shows nothing of the process that has it open.
func TestRegionInUseElsewhere(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("namespaces need root")
	}
	f, err := os.CreateTemp("/dev/shm", "vllm_offload_facts-test-*.mmap")
	require.NoError(t, err)
	t.Cleanup(func() { os.Remove(f.Name()) })
	listed := func() bool {
		facts := child(t, "as it is", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID})
		return slices.ContainsFunc(facts.Shm.StaleRegions, func(region v1.StaleRegion) bool {
			return "/dev/shm/"+region.Name == f.Name()
		})
	}
	assert.False(t, listed())
	require.NoError(t, f.Close())
	assert.True(t, listed())
}
