package policy

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the expected messages")

// TestRefused loads every archive under testdata/refused beside the shipped rules. Its files are the site's; the file
// named want is the whole error.
func TestRefused(t *testing.T) {
	paths, err := filepath.Glob("testdata/refused/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	engine := newEngine(t, Options{})
	before, err := engine.Info()
	require.NoError(t, err)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			site, want := fstest.MapFS{}, ""
			for _, f := range archive.Files {
				if f.Name == "want" {
					want = string(f.Data)
					continue
				}
				site[f.Name] = &fstest.MapFile{Data: f.Data}
			}
			err = engine.Swap(t.Context(), []Source{{Name: "site", FS: site}}, nil)
			require.Error(t, err)
			if *update {
				writeWant(t, path, archive, err.Error()+"\n")
				return
			}
			assert.Equal(t, want, err.Error()+"\n")
			after, err := engine.Info()
			require.NoError(t, err)
			assert.Equal(t, before.Digest, after.Digest, "a refused revision must leave the old one in force")
		})
	}
}

func writeWant(t *testing.T, path string, archive *txtar.Archive, want string) {
	t.Helper()
	files := archive.Files[:0]
	for _, f := range archive.Files {
		if f.Name != "want" {
			files = append(files, f)
		}
	}
	archive.Files = append(files, txtar.File{Name: "want", Data: []byte(want)})
	require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
}

// cache keeps what the tests compile, since most of them load the same rules.
var cache string

func TestMain(m *testing.M) {
	var err error
	if cache, err = os.MkdirTemp("", "policy"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(cache)
	os.Exit(status)
}

func newEngine(t testing.TB, opts Options) *Engine {
	t.Helper()
	if opts.CacheDir == "" {
		opts.CacheDir = cache
	}
	engine, err := New(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, engine.Close(context.WithoutCancel(t.Context()))) })
	return engine
}
