package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/e2e/worker"
)

func TestMain(m *testing.M) {
	worker.Main()
	var err error
	if builds, err = os.MkdirTemp("", "tiergate-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Workers of another user run this program, too.
	if err = os.Chmod(builds, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	if err := os.RemoveAll(builds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// builds is where binaries are, until the tests are over.
var builds string

// tiergate is the binary under test.
func tiergate(t testing.TB) string {
	t.Helper()
	path, err := buildTiergate()
	require.NoError(t, err)
	return path
}

var buildTiergate = sync.OnceValues(func() (string, error) {
	return build("build", "tiergate", "../cmd/tiergate")
})

// build has Go make a binary. How is build, or "test -c" for a copy of this program.
func build(how, name, target string, flags ...string) (string, error) {
	path := filepath.Join(builds, name)
	args := append([]string{how, "-o", path}, flags...)
	out, err := exec.Command("go", append(args, target)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go %s %s: %w\n%s", how, target, err, out)
	}
	return path, nil
}

// workerBinary is this program, which is a worker where its environment says so.
func workerBinary(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}
