package main_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxSize is what the library may take in a worker's image, in bytes.
const maxSize = 12 << 20

// TestFromC builds the library as `make library` does and calls it from a program in C.
func TestFromC(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc) in PATH: a shared library cannot be built")
	}
	dir := t.TempDir()
	library, program := filepath.Join(dir, "libtiergate.so"), filepath.Join(dir, "calls")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-buildmode=c-shared", "-o", library, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	output(t, build)
	info, err := os.Stat(library)
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(maxSize))

	output(t, exec.Command(compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread", "-o", program,
		filepath.Join("testdata", "calls.c"), library, "-Wl,-rpath,"+dir))
	t.Log(output(t, exec.Command(program, "http://"+silent(t))))
}

// silent is the address of a service that takes connections and never answers.
func silent(t *testing.T) string {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

func output(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	text, err := command.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return string(text)
}
