package policy

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestContentDigestCountsContentAlone(t *testing.T) {
	one := fstest.MapFS{
		"a.rego": {Data: []byte("package a\n")}, "b.rego": {Data: []byte("package b\n")},
		"x/data.yaml": {Data: []byte("n: 1\nm: 2\n"), ModTime: time.Unix(1, 0)},
	}
	same := fstest.MapFS{
		"z/a.rego": {Data: []byte("package a\n")}, "0.rego": {Data: []byte("package b\n")},
		"data.json": {Data: []byte(`{"x": {"m": 2, "n": 1}}`)},
	}
	other := fstest.MapFS{"a.rego": one["a.rego"], "b.rego": one["b.rego"], "x/data.yaml": {Data: []byte("n: 1\nm: 3\n")}}
	digest := func(fs fstest.MapFS) string {
		d, err := ContentDigest([]Source{{Name: "s", FS: fs}}, nil)
		require.NoError(t, err)
		return d
	}
	assert.Equal(t, digest(one), digest(same))
	assert.NotEqual(t, digest(one), digest(other))
	assert.Regexp(t, "^sha256:[0-9a-f]{64}$", digest(one))
}

// Kubernetes swaps the link ..data from one folder to the next.
func TestContentDigestSeesASwappedConfigMap(t *testing.T) {
	dir := t.TempDir()
	for version, text := range map[string]string{"..one": "package a\n", "..two": "package a\n\nx := 1\n"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, version), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, version, "a.rego"), []byte(text), 0o644))
	}
	require.NoError(t, os.Symlink("..data/a.rego", filepath.Join(dir, "a.rego")))
	swap := func(version string) string {
		require.NoError(t, os.Symlink(version, filepath.Join(dir, "..tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
		d, err := ContentDigest([]Source{{Name: dir, FS: os.DirFS(dir)}}, nil)
		require.NoError(t, err)
		return d
	}
	first := swap("..one")
	assert.NotEqual(t, first, swap("..two"))
	assert.Equal(t, first, swap("..one"))
}
