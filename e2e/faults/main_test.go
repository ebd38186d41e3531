package faults

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/e2e/worker"
)

// atOnce is how many cells run at a time. They mostly wait, so that it has nothing to do with the number of processors.
const atOnce = "48"

func TestMain(m *testing.M) {
	worker.Main()
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	status := 1
	if err := prepare(given); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		status = m.Run()
	}
	if err := os.RemoveAll(files); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// files is a directory that workers of any user can read, until the tests are over.
var files string

func prepare(parallelGiven bool) (err error) {
	if !parallelGiven {
		if err := flag.Set("test.parallel", atOnce); err != nil {
			return err
		}
	}
	if files, err = os.MkdirTemp("", "tiergate-faults-"); err != nil {
		return err
	}
	return os.Chmod(files, 0o755)
}

// tiergate is the binary under test.
func tiergate(t testing.TB) string {
	t.Helper()
	path, err := buildTiergate()
	require.NoError(t, err)
	return path
}

var buildTiergate = sync.OnceValues(func() (string, error) {
	return build("build", "tiergate", "../../cmd/tiergate")
})

// build has Go make a binary. How is build, or "test -c" for a copy of this program.
func build(how, name, target string, flags ...string) (string, error) {
	path := filepath.Join(files, name)
	args := append([]string{how, "-o", path}, flags...)
	out, err := exec.Command("go", append(args, target)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go %s %s: %w\n%s", how, target, err, out)
	}
	return path, nil
}
