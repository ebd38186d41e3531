//go:build linux

package image

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxSize of everything in the image, as it is on disk. Bytes.
const maxSize = 40_000_000

// inspected is what buildah says of an image.
type inspected struct {
	Docker struct {
		Config struct {
			User        string
			Env         []string
			Entrypoint  []string
			Cmd         []string
			Labels      map[string]string
			Volumes     map[string]struct{}
			Healthcheck struct{ Test []string }
		} `json:"config"`
		RootFS struct {
			Layers []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
}

func TestImage(t *testing.T) {
	b := newBuilder(t)
	b.run(t, []string{"VERSION=v1.2.3-test"}, filepath.Join(b.tree, "tools/image"), "localhost/tiergate:test")

	var image inspected
	require.NoError(t, json.Unmarshal(b.buildah(t, "inspect", "--type", "image", "localhost/tiergate:test"), &image))
	config := image.Docker.Config
	assert.Equal(t, "65532:65532", config.User, "a number, so that clusters can see that it is not root")
	assert.Equal(t, []string{"/tiergate"}, config.Entrypoint)
	assert.Equal(t, []string{"serve"}, config.Cmd)
	assert.Equal(t, []string{"CMD", "/tiergate", "health"}, config.Healthcheck.Test)
	assert.Contains(t, config.Env, "TIERGATE_CACHE_DIR=/var/cache/tiergate")
	assert.Contains(t, config.Volumes, "/var/cache/tiergate")
	assert.Contains(t, config.Volumes, "/var/lib/tiergate")
	assert.Equal(t, "v1.2.3-test", config.Labels["org.opencontainers.image.version"])
	assert.Len(t, image.Docker.RootFS.Layers, 1, "what the builder had is in no layer")

	container := strings.TrimSpace(string(b.buildah(t, "from", "--pull-never", "localhost/tiergate:test")))
	root := strings.TrimSpace(string(b.buildah(t, "mount", container)))
	size, files := contents(t, root)
	assert.Equal(t, []string{"etc/ssl/certs/ca-certificates.crt", "tiergate"}, files)
	assert.Less(t, size, int64(maxSize), "see tools/slim for what makes the program large")
	t.Logf("image: %d bytes", size)

	t.Run("runs", func(t *testing.T) { runs(t, root, config.Env) })
}

// builder has an image store of its own.
type builder struct {
	tree string
	env  []string
}

func newBuilder(t *testing.T) *builder {
	if _, err := exec.LookPath("buildah"); err != nil {
		t.Skip("buildah is not installed; apt-get install buildah")
	}
	if os.Geteuid() != 0 {
		t.Skip("the image's program is run in a root of its own, which takes root to make")
	}
	tree, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	conf := filepath.Join(dir, "storage.conf")
	text := "[storage]\ndriver = \"vfs\"\ngraphroot = \"" + dir + "/graph\"\nrunroot = \"" + dir + "/run\"\n"
	require.NoError(t, os.WriteFile(conf, []byte(text), 0o600))
	b := &builder{tree, append(os.Environ(), "CONTAINERS_STORAGE_CONF="+conf, "TMPDIR="+dir)}
	t.Cleanup(func() { b.buildah(t, "umount", "--all"); b.buildah(t, "rm", "--all") })
	return b
}

func (b *builder) buildah(t *testing.T, args ...string) []byte {
	return b.run(t, nil, "buildah", args...)
}

func (b *builder) run(t *testing.T, env []string, name string, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	if strings.HasPrefix(strings.Join(args, " "), "umount") || args[0] == "rm" {
		command = exec.Command(name, args...) // after the test's context
	}
	command.Dir, command.Env = b.tree, append(b.env, env...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	require.NoError(t, err, "%s %v:\n%s%s", name, args, out, &stderr)
	return out
}

// contents are the bytes and the names of all files.
func contents(t *testing.T, root string) (size int64, files []string) {
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		size, files = size+info.Size(), append(files, name)
		return err
	}))
	return size, files
}
