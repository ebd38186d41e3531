package facts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// none is how version 1 writes that there is no limit.
const none = "9223372036854771712"

// write makes a directory of files; names ending in / are directories.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			require.NoError(t, os.MkdirAll(path, 0o755))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// fake returns a collector for a directory: a mountinfo names paths in it as DIR.
func fake(t *testing.T, files map[string]string) (c Collector, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	expanded := map[string]string{}
	for name, text := range files {
		expanded[name] = strings.ReplaceAll(text, "DIR", dir)
	}
	write(t, dir, expanded)
	return Collector{Proc: dir + "/proc", Shm: dir + "/shm"}, dir
}

const (
	mounted2 = "1 0 0:28 / DIR/cg ro - cgroup2 cgroup rw\n"
	mounted1 = "1 0 0:29 / DIR/cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n2 0 0:30 / DIR/cg/memory rw - cgroup cgroup rw,memory\n"
	bound1   = "2 0 0:30 /kubepods/pod1/c1 DIR/cg/memory ro - cgroup cgroup rw,memory\n"
)

func TestMemory(t *testing.T) {
	known := func(bytes int64) *int64 { return &bytes }
	for name, test := range map[string]struct {
		mounts, cgroup string
		files          map[string]string
		limit, usage   *int64
		absent         map[string]string
	}{
		"2 in a cgroup namespace": {
			mounts: mounted2, cgroup: "0::/\n", files: map[string]string{"cg/memory.max": "1000\n", "cg/memory.current": "10\n"},
			limit: known(1000), usage: known(10),
		},
		"2, the smallest is above": {
			mounts: mounted2, cgroup: "0::/pod/c:1\n",
			files: map[string]string{
				"cg/memory.max": "9000", "cg/pod/memory.max": "500", "cg/pod/memory.current": "50",
				"cg/pod/c:1/memory.max": "700", "cg/pod/c:1/memory.current": "7", "memory.max": "1",
			},
			limit: known(500), usage: known(50),
		},
		"2, none": {
			mounts: mounted2, cgroup: "0::/pod\n",
			files: map[string]string{"cg/pod/memory.max": "max\n", "cg/pod/memory.current": "5", "cg/memory.current": "6"},
			usage: known(5),
		},
		"2, accounted for above": {
			mounts: mounted2, cgroup: "0::/pod/leaf\n",
			files: map[string]string{"cg/pod/leaf/": "", "cg/pod/memory.max": "max", "cg/pod/memory.current": "5"},
			usage: known(5),
		},
		"2, the root has no files": {
			mounts: mounted2, cgroup: "0::/\n", files: map[string]string{"cg/": ""},
			absent: map[string]string{"memory.usage_bytes": "open DIR/cg/memory.current: no such file or directory (ENOENT)"},
		},
		"1": {
			mounts: mounted1, cgroup: "5:cpu,cpuacct:/x\n4:memory:/kubepods/pod1\n0::/y\n",
			files: map[string]string{
				"cg/memory/memory.limit_in_bytes": none, "cg/memory/kubepods/memory.limit_in_bytes": none,
				"cg/memory/kubepods/pod1/memory.limit_in_bytes": "4096\n", "cg/memory/kubepods/pod1/memory.usage_in_bytes": "4000\n",
			},
			limit: known(4096), usage: known(4000),
		},
		"1, none": {
			mounts: mounted1, cgroup: "4:memory:/\n",
			files: map[string]string{"cg/memory/memory.limit_in_bytes": none, "cg/memory/memory.usage_in_bytes": "8"},
			usage: known(8),
		},
		"1, the mount shows the container's part": {
			mounts: bound1, cgroup: "4:memory:/kubepods/pod1/c1/sub\n",
			files: map[string]string{
				"cg/memory/sub/memory.limit_in_bytes": "30", "cg/memory/sub/memory.usage_in_bytes": "3",
				"cg/memory/memory.limit_in_bytes": "40",
			},
			limit: known(30), usage: known(3),
		},
		"another container's part is mounted": {
			mounts: bound1, cgroup: "4:memory:/kubepods/pod1/c10\n", files: map[string]string{"cg/memory/memory.limit_in_bytes": "40"},
			absent: map[string]string{"memory": "cgroup /kubepods/pod1/c10 is not below any mounted cgroup"},
		},
		"outside the namespace": {
			mounts: mounted2, cgroup: "0::/../other\n", files: map[string]string{"cg/other/memory.max": "1"},
			absent: map[string]string{"memory": "cgroup /../other is not below any mounted cgroup2"},
		},
		"not mounted": {
			cgroup: "0::/\n", absent: map[string]string{"memory": "cgroup / is not below any mounted cgroup2"},
		},
		"removed": {
			mounts: mounted2, cgroup: "0::/gone (deleted)\n", files: map[string]string{"cg/": ""},
			absent: map[string]string{"memory": "stat DIR/cg/gone (deleted): no such file or directory (ENOENT)"},
		},
		"no memory controller": {
			cgroup: "5:cpu:/\nnonsense\n", absent: map[string]string{"memory": "DIR/proc/self/cgroup: no cgroup that accounts for memory"},
		},
		"not a number": {
			mounts: mounted2, cgroup: "0::/\n", files: map[string]string{"cg/memory.max": "-1\n", "cg/memory.current": "many\n"},
			absent: map[string]string{
				"memory.limit_bytes": `DIR/cg/memory.max has "-1", which is no number of bytes`,
				"memory.usage_bytes": `DIR/cg/memory.current has "many", which is no number of bytes`,
			},
		},
		"one level cannot be read": {
			mounts: mounted2, cgroup: "0::/a\n",
			files: map[string]string{"cg/a/memory.max/": "", "cg/memory.max": "900", "cg/memory.current": "9"},
			limit: known(900), usage: known(9),
			absent: map[string]string{"memory.limit_bytes": "DIR/cg/a/memory.max is not a regular file but d---------"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"proc/self/mountinfo": test.mounts, "proc/self/cgroup": test.cgroup}
			for file, text := range test.files {
				files[file] = text
			}
			c, dir := fake(t, files)
			r := reading{Collector: c}
			r.memory(r.mounts())
			if _, whole := test.absent["memory"]; whole {
				assert.Nil(t, r.facts.Memory)
			} else {
				require.NotNil(t, r.facts.Memory)
				assert.Equal(t, test.limit, r.facts.Memory.LimitBytes)
				assert.Equal(t, test.usage, r.facts.Memory.UsageBytes)
			}
			absent := map[string]string{}
			for _, a := range r.facts.Absent {
				absent[a.Fact] = strings.ReplaceAll(a.Reason, dir, "DIR")
			}
			if test.absent == nil {
				test.absent = map[string]string{}
			}
			assert.Equal(t, test.absent, absent)
		})
	}
}

func FuzzParseCgroup(f *testing.F) {
	f.Add("5:cpu,cpuacct:/x\n4:memory:/kubepods/pod1\n0::/y\n", container)
	f.Add("0::/../a\n", container)
	f.Fuzz(func(t *testing.T, text, mountinfo string) {
		h, group, err := parseCgroup(text)
		if err != nil {
			return
		}
		assert.Equal(t, byte('/'), group[0])
		if dir, top, err := h.directory(group, parseMountinfo(mountinfo)); err == nil {
			_, below := relative(dir, top)
			assert.True(t, below || strings.HasPrefix(top, "."), "%q is read although only %q is mounted", dir, top)
		}
	})
}
