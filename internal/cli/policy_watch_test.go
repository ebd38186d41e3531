package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWatch edits rules as Kubernetes changes a ConfigMap, by swapping a link, and waits for what the tests then say.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "site")
	revision := func(name, answer string) {
		files := filepath.Join(dir, name)
		require.NoError(t, os.Mkdir(files, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(files, "lib.rego"), []byte("package site.lib\n\nanswer := "+answer+"\n"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(files, "lib_test.rego"),
			[]byte("package site.lib_test\n\ntest_answer if data.site.lib.answer == 42\n"), 0o644))
		require.NoError(t, os.Symlink(files, link+".new"))
		require.NoError(t, os.Rename(link+".new", link))
	}
	revision("one", "42")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	reader, writer := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, []string{"policy", "test", "--watch", link}, nil, nil, writer, writer)
		writer.Close()
	}()
	lines := bufio.NewScanner(reader)
	until := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		require.Fail(t, "the output ended", "before %q", text)
	}
	until("1 of 1 tests pass")
	revision("two", "43")
	until("0 of 1 tests pass, 1 fail")
	revision("three", "oops oops")
	until("site/lib.rego:3: ")
	require.NoError(t, os.Remove(link))
	until("no such file or directory")
	revision("four", "40 + 2")
	until("1 of 1 tests pass")
	until("waiting for a change")
	interrupt()
	assert.False(t, lines.Scan(), "nothing is said after the end")
	assert.Equal(t, int(StatusAllow), <-ended)
}
