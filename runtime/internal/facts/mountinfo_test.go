package facts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// container is what a container with an emptyDir at /dev/shm sees on a machine with cgroups of version 2.
const container = `622 539 0:47 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
623 622 0:50 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
624 622 0:51 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
627 622 0:28 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw
628 624 0:45 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=65536k
629 624 0:44 / /dev/shm rw,relatime shared:5 master:2 propagate_from:1 - tmpfs tmpfs rw,size=15728640k
630 622 8:1 /var/lib/kubelet/a\040b /data\134x ro,relatime - ext4 /dev/sda1 rw
`

func TestParseMountinfo(t *testing.T) {
	mounts := parseMountinfo(container)
	require.Len(t, mounts, 7)
	assert.Equal(t, mount{
		device: "0:44", root: "/", point: "/dev/shm", filesystem: "tmpfs", source: "tmpfs", options: []string{"rw", "size=15728640k"},
	}, mounts[5])
	assert.Equal(t, mount{
		device: "8:1", root: "/var/lib/kubelet/a b", point: `/data\x`, filesystem: "ext4", source: "/dev/sda1",
		options: []string{"rw"}, readOnly: true,
	}, mounts[6])
}

func TestParseMountinfoOddLines(t *testing.T) {
	for line, want := range map[string]string{
		`1 2 0:9 / /a rw - tmpfs  rw,size=1k`:   "[0:9 /a tmpfs  false]", // without a source
		`1 2 0:9 / /a rw - tmpfs none ro`:       "[0:9 /a tmpfs none true]",
		`1 2 0:9 / /a rw x - y - tmpfs none ro`: "[0:9 /a y - false]",
		`1 2 0:9 / /\0 rw - t s rw`:             `[0:9 /\0 t s false]`,
		`1 2 0:9 / /\777 rw - t s rw`:           `[0:9 /\777 t s false]`,
		`1 2 0:9 / /a rw`:                       "",
		`1 2 0:9 / /a rw - tmpfs none`:          "",
		`1 2 0:9 / - tmpfs none rw`:             "",
		``:                                      "",
	} {
		var got []string
		for _, m := range parseMountinfo(line) {
			got = append(got, fmt.Sprint([]any{m.device, m.point, m.filesystem, m.source, m.readOnly}))
		}
		assert.Equal(t, want, strings.Join(got, ""), line)
	}
}

// kernelEscapes writes a path as the kernel does.
var kernelEscapes = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`, "#", `\043`)

func TestMountinfoRoundTrip(t *testing.T) {
	text := rapid.StringMatching(`/[ -~\n\t\\#äöü/0-7]*`)
	rapid.Check(t, func(t *rapid.T) {
		root, point, source := text.Draw(t, "root"), text.Draw(t, "point"), text.Draw(t, "source")
		optional := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{" shared:1", " master:22"})).Draw(t, "optional"), "")
		line := fmt.Sprintf("1 2 3:4 %s %s rw%s - tmpfs %s rw\n", kernelEscapes.Replace(root), kernelEscapes.Replace(point),
			optional, kernelEscapes.Replace(source))
		require.Equal(t, []mount{{
			device: "3:4", root: root, point: point, filesystem: "tmpfs", source: source, options: []string{"rw"},
		}}, parseMountinfo(line))
	})
}

func FuzzParseMountinfo(f *testing.F) {
	f.Add(container, "/dev/shm", "0:44")
	f.Add(`1 2 0:9 / /\1 rw - t s rw`, "/", "")
	f.Fuzz(func(t *testing.T, text, path, device string) {
		mounts := parseMountinfo(text)
		assert.LessOrEqual(t, len(mounts), strings.Count(text, "\n")+1)
		if m := covering(mounts, path, device); m != nil {
			assert.True(t, strings.HasPrefix(path, strings.TrimSuffix(m.point, "/")))
			assert.True(t, device == "" || m.device == device)
		}
	})
}

func TestCovering(t *testing.T) {
	mounts := parseMountinfo(container)
	hidden := parseMountinfo(container + "640 624 0:60 / /dev rw - tmpfs over rw\n")
	for _, test := range []struct {
		mounts       []mount
		path, device string
		want         string
	}{
		{mounts, "/dev/shm", "", "0:44"}, // the later of two on one point
		{mounts, "/dev/shm/sub", "", "0:44"},
		{mounts, "/dev/shmem", "", "0:51"}, // only whole names count
		{mounts, "/run/shm", "", "0:47"},   // no mount of its own
		{mounts, "/", "", "0:47"},
		{mounts, "/dev/shm", "0:45", "0:45"},
		{mounts, "/dev/shm", "9:9", ""},
		{hidden, "/dev/shm", "0:60", "0:60"}, // a later mount above hides it
		{nil, "/dev/shm", "", ""},
	} {
		got := ""
		if m := covering(test.mounts, test.path, test.device); m != nil {
			got = m.device
		}
		assert.Equal(t, test.want, got, "%s on %q", test.path, test.device)
	}
}

func TestLocateFollowsLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	mounts := parseMountinfo(fmt.Sprintf("1 0 8:1 / / rw - ext4 root rw\n2 1 0:9 / %s/run/shm rw - tmpfs shm rw\n"+
		"3 1 0:10 / %s/far rw - nfs4 server:/x rw\n", dir, dir))
	require.NoError(t, os.Mkdir(dir+"/far", 0o755))
	for link, target := range map[string]string{
		"absolute": dir + "/run/shm", "relative": "run/shm", "twice": "relative", "round": "round", "gone": "nowhere",
		"far/link": dir + "/run/shm",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	for name, want := range map[string]string{
		"absolute": "run/shm 0:9", "relative": "run/shm 0:9", "twice": "run/shm 0:9", "run/shm": "run/shm 0:9",
		"round": "round 8:1", "gone": "nowhere 8:1",
		"far/link": "far/link 0:10", // what is on a server is not even asked whether it is a link
	} {
		path, m := locate(filepath.Join(dir, name), mounts)
		require.NotNil(t, m, name)
		assert.Equal(t, dir+"/"+want, path+" "+m.device, name)
	}
}
