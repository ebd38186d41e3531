package policy

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// revisionWith loads the shipped rules and one more file with a cache.
func revisionWith(t *testing.T, dir, lib string) string {
	t.Helper()
	engine, err := New(t.Context(), Options{
		CacheDir: dir, Sources: []Source{{Name: "site", FS: fstest.MapFS{"lib.rego": {Data: []byte(lib)}}}},
	})
	require.NoError(t, err)
	defer func() { assert.NoError(t, engine.Close(t.Context())) }()
	info, err := engine.Info()
	require.NoError(t, err)
	return info.Revision
}

func cachedModules(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "policy-*"))
	require.NoError(t, err)
	return files
}

func TestCacheKeepsTheRevision(t *testing.T) {
	const one, two = "package site.lib\n\nanswer := 42\n", "package site.lib\n\nanswer := 43\n"
	dir := t.TempDir()
	cold := revisionWith(t, dir, one)
	files := cachedModules(t, dir)
	require.Len(t, files, 1)

	// What is kept is what is used: another module of the same name gives another revision.
	kept, ok := readSealed(files[0])
	require.True(t, ok)
	assert.Equal(t, cold, revisionWith(t, dir, one))
	require.NoError(t, writeSealed(files[0], append(bytes.Clone(kept), 0, 3, 1, 'x', 'y'))) // a custom section
	assert.NotEqual(t, cold, revisionWith(t, dir, one))

	revisionWith(t, dir, two)
	assert.Len(t, cachedModules(t, dir), 2, "another rule is another module")
}

func TestCacheThatIsDamaged(t *testing.T) {
	const lib = "package site.lib\n\nanswer := 42\n"
	dir := t.TempDir()
	cold := revisionWith(t, dir, lib)
	file := cachedModules(t, dir)[0]
	sealed, err := os.ReadFile(file)
	require.NoError(t, err)
	for name, text := range map[string][]byte{"empty": nil, "cut off": sealed[:len(sealed)/2], "changed": append(bytes.Clone(sealed), 0)} {
		require.NoError(t, os.WriteFile(file, text, 0o600))
		assert.Equal(t, cold, revisionWith(t, dir, lib), name)
		repaired, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, sealed, repaired, name)
	}
}

// TestMachineCodeThatIsDamaged: whatever is wrong with what wazero kept, the engine starts.
func TestMachineCodeThatIsDamaged(t *testing.T) {
	const lib = "package site.lib\n\nanswer := 42\n"
	dir := t.TempDir()
	cold := revisionWith(t, dir, lib)
	damaged := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), "policy-") {
			return err
		}
		damaged++
		return os.WriteFile(path, []byte("cut"), 0o600)
	}))
	require.Positive(t, damaged)
	assert.Equal(t, cold, revisionWith(t, dir, lib))
}
