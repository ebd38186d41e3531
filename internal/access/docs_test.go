package access

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func securityPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/security.md")
	require.NoError(t, err)
	return string(text)
}

// The access file of the documentation is read but for the files that it names, which are not here.
func TestDocumentedFileIsRead(t *testing.T) {
	_, rest, _ := strings.Cut(securityPage(t), "```yaml\n")
	text, _, _ := strings.Cut(rest, "```")
	mistakes := mistakesOf(t, text, nil)
	assert.Equal(t, []string{
		`access.yaml:8: token "ops": read its token: stat /run/secrets/ops/token: no such file or directory`,
		"access.yaml:10: service_accounts: read jwks_ca: stat /var/run/secrets/kubernetes.io/serviceaccount/ca.crt: no such file or directory",
		"access.yaml:10: service_accounts: read jwks_token: stat /var/run/secrets/kubernetes.io/serviceaccount/token: no such file or directory",
	}, strings.Split(mistakes, "\n"))
}

func TestEveryKeyIsDocumented(t *testing.T) {
	page := securityPage(t)
	for _, part := range []any{file{}, tokenEntry{}, serviceAccounts{}, accountEntry{}, certificateEntry{}, peerEntry{}, limits{}} {
		for _, key := range keysOf(reflect.TypeOf(part)) {
			assert.Contains(t, page, "`"+key+"`")
		}
	}
}

// Each line of the threat model names tests that are there.
func TestThreatModelNamesTests(t *testing.T) {
	written := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllStringSubmatch(string(text), -1) {
			written[found[1]] = true
		}
		return err
	}))
	_, model, found := strings.Cut(securityPage(t), "\n## Threat model\n")
	require.True(t, found)
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	for line := range strings.Lines(model) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| who ") {
			continue
		}
		names := named.FindAllStringSubmatch(line, -1)
		assert.NotEmpty(t, names, "no test shows %s", line)
		for _, name := range names {
			assert.True(t, written[name[1]], "there is no test %s", name[1])
		}
	}
}
