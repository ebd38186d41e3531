package facts

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBootID(t *testing.T) {
	const id = "093b9435-5b5c-4aed-85bd-d4cad9b6bfed"
	const path = "proc/sys/kernel/random/boot_id"
	for name, test := range map[string]struct {
		files  map[string]string
		want   string
		absent string
	}{
		"there":   {map[string]string{path: id + "\n"}, id, ""},
		"missing": {nil, "", "open DIR/" + path + ": no such file or directory (ENOENT)"},
		"empty":   {map[string]string{path: "\n"}, "", `DIR/` + path + ` has "", which is no boot id`},
		"made up": {map[string]string{path: "host-1\n"}, "", `DIR/` + path + ` has "host-1", which is no boot id`},
		"twice":   {map[string]string{path: id + "\n" + id}, "", `DIR/` + path + ` has "` + id + `\n093b9435-5b5c-4aed-85bd", which is no boot id`},
		"a directory": {
			map[string]string{path + "/": ""}, "", "DIR/" + path + " is not a regular file but d---------",
		},
		"endless": {map[string]string{path: strings.Repeat("a", 1<<20)}, "", "DIR/" + path + " is longer than 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			c, dir := fake(t, test.files)
			r := reading{Collector: c}
			r.process()
			assert.Equal(t, test.want, r.facts.BootID)
			got := ""
			if len(r.facts.Absent) > 0 && r.facts.Absent[0].Fact == "boot_id" {
				got = strings.ReplaceAll(r.facts.Absent[0].Reason, dir, "DIR")
			}
			assert.Equal(t, test.absent, got)
		})
	}
}

func TestNamespaces(t *testing.T) {
	c, dir := fake(t, map[string]string{"proc/self/ns/": ""})
	for kind, target := range map[string]string{"mnt": "mnt:[4026531841]", "ipc": "net:[1]", "pid": "x", "net": "net:[7]", "uts": "uts:[8]"} {
		require.NoError(t, os.Symlink(target, dir+"/proc/self/ns/"+kind))
	}
	r := reading{Collector: c}
	r.namespaces()
	assert.Equal(t, map[string]string{"mnt": "4026531841", "net": "7", "uts": "8"}, r.facts.Namespaces)
	ns := "DIR/proc/self/ns/"
	assert.Equal(t, "namespaces.ipc: "+ns+`ipc points to "net:[1]"; namespaces.pid: `+ns+`pid points to "x"; namespaces.user: readlink `+
		ns+"user: no such file or directory (ENOENT)", strings.ReplaceAll(reasons(r.facts), dir, "DIR"))
}

// A pipe in the place of a file must not hold a registration up.
func TestReadRefusesPipes(t *testing.T) {
	path := t.TempDir() + "/pipe"
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := readText(path, 10)
	assert.EqualError(t, err, path+" is not a regular file but p---------")
}

// Whatever is missing, the answer comes, and says what is missing.
func TestNothingThere(t *testing.T) {
	f := Collector{Proc: t.TempDir(), Shm: t.TempDir() + "/none"}.Collect()
	assert.Nil(t, f.Memory)
	assert.Nil(t, f.Shm)
	var absent []string
	for _, a := range f.Absent {
		absent = append(absent, a.Fact)
		assert.Contains(t, a.Reason, "(ENOENT)")
	}
	assert.Equal(t, []string{
		"boot_id", "namespaces.mnt", "namespaces.ipc", "namespaces.pid", "namespaces.net", "namespaces.user",
		"namespaces.uts", "shm.source", "shm", "memory",
	}, absent)
	assert.NotZero(t, f.PID)
	assert.EqualValues(t, os.Geteuid(), *f.UID)
	assert.EqualValues(t, os.Getegid(), *f.GID)
}
