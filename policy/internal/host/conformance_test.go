package host

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/test/cases"
	"github.com/open-policy-agent/opa/v1/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// sampled is which part of OPA's cases runs unless TIERGATE_CONFORMANCE is "all".
const sampled = 20

// suiteCase is one of OPA's own cases, in the version of Rego that it is written in.
type suiteCase struct {
	cases.TestCase
	version ast.RegoVersion
	// excepted is why OPA's own WebAssembly target may fail it; empty if it may not.
	excepted string
}

// TestConformance runs OPA's own cases on this host. They are judged as by OPA itself, but where a case is about
// errors in strict mode, which OPA's WebAssembly target does not have, this host must find the error.
func TestConformance(t *testing.T) {
	dir := opaModule(t)
	suite := loadSuite(t, dir)
	if os.Getenv("TIERGATE_CONFORMANCE") != "all" {
		var part []suiteCase
		for i := 0; i < len(suite); i += sampled {
			part = append(part, suite[i])
		}
		suite = part
	}
	results := make([]verdict, len(suite))
	var next sync.Mutex
	taken := 0
	take := func() int {
		next.Lock()
		defer next.Unlock()
		taken++
		return taken - 1
	}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			h := newHost(t)
			for i := take(); i < len(suite); i = take() {
				results[i] = judge(t.Context(), h, suite[i])
			}
		})
	}
	workers.Wait()
	report(t, suite, results)
}

func report(t *testing.T, suite []suiteCase, results []verdict) {
	counts := map[string]int{}
	for i, r := range results {
		counts[r.kind]++
		c := suite[i]
		name := fmt.Sprintf("%v %s: %s", c.version, filepath.Base(c.Filename), c.Note)
		switch {
		case r.failure == "":
		case c.excepted != "":
			t.Logf("excepted: %s: %s (%s)", name, r.failure, c.excepted)
			counts["failed, which OPA excepts"]++
		default:
			assert.Fail(t, name, "%s", r.failure)
			counts["failed"]++
		}
	}
	t.Logf("%d cases", len(suite))
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%5d %s", counts[kind], kind)
	}
}

func opaModule(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/open-policy-agent/opa").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

func loadSuite(t *testing.T, dir string) []suiteCase {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "internal/wasm/sdk/test/e2e/exceptions.yaml"))
	require.NoError(t, err)
	exceptions := map[string]string{}
	require.NoError(t, yaml.Unmarshal(text, &exceptions))
	var suite []suiteCase
	for _, v := range []struct {
		dir     string
		version ast.RegoVersion
	}{{"v0", ast.RegoV0}, {"v1", ast.RegoV1}} {
		for _, c := range cases.MustLoad(filepath.Join(dir, "v1/test/cases/testdata", v.dir)).Sorted().Cases {
			suite = append(suite, suiteCase{TestCase: c, version: v.version, excepted: exceptions[c.Note]})
		}
	}
	return suite
}

func TestMain(m *testing.M) {
	// Some cases call it; OPA's own suite registers it as well.
	sleep := &rego.Function{Name: "test.sleep", Decl: types.NewFunction(types.Args(types.S), types.NewNull())}
	rego.RegisterBuiltin1(sleep,
		func(_ rego.BuiltinContext, op *ast.Term) (*ast.Term, error) {
			d, err := time.ParseDuration(string(op.Value.(ast.String)))
			time.Sleep(d)
			return ast.NullTerm(), err
		})
	os.Exit(m.Run())
}
