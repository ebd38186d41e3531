package access

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

// mistakesOf opens an access file that is wrong and gives the error without the file's folder.
func mistakesOf(t testing.TB, text string, files map[string]string) string {
	t.Helper()
	path := folder(t, text, files)
	guard, err := Open(t.Context(), Options{File: path})
	require.Error(t, err, text)
	require.Nil(t, guard)
	return strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/", "")
}

func testdata(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(text)
}

func TestOpenReadsEveryKey(t *testing.T) {
	path := folder(t, testdata(t, "good.yaml"), map[string]string{"ops.token": "0123456789abcdef\n", "ca.crt": "", "sa.token": ""})
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the keys of that cluster are not to be had
	guard, err := Open(ctx, Options{File: path})
	require.NoError(t, err)
	rules, a, limits := guard.rules.Load(), guard.rules.Load().accounts, Limits{RequestsPerSecond: 20, Burst: 20, MaxBody: 64 << 10}

	assert.Equal(t, &Identity{
		"token:ci", "fleet-a", []Role{Launcher, Reader}, []string{"llm-*", "embed/*"}, Limits{RequestsPerSecond: 50, Burst: 100, MaxBody: 1 << 20},
	}, rules.tokens[0].identity)
	assert.Equal(t, &Identity{"token:ops", "", []Role{Admin}, nil, limits}, rules.tokens[1].identity)
	assert.Equal(t, []string{"tiergate", "https://kubernetes.default.svc.cluster.local"}, []string{a.audience, a.issuer})
	assert.Equal(t, []string{
		"https://kubernetes.default.svc/openid/v1/jwks", filepath.Join(filepath.Dir(path), "ca.crt"), filepath.Join(filepath.Dir(path), "sa.token"),
	}, []string{a.keys.url, a.keys.ca, a.keys.token})
	assert.Equal(t, &Identity{"", "a", []Role{Worker}, []string{"{namespace}.{name}.*", "{pod}"}, limits}, a.entries[0].grant)
	assert.Equal(t, Limits{RequestsPerSecond: 20, Burst: 7, MaxBody: 64 << 10}, a.entries[1].grant.Limits)
	assert.Equal(t, "spiffe://cluster.local/ns/*/sa/launcher", rules.certificates[0].pattern)
	assert.Equal(t, []uint32{1000, 100}, []uint32{*rules.peers[0].uid, *rules.peers[0].gid})
	assert.Nil(t, rules.peers[1].uid)
	assert.Equal(t, Limits{RequestsPerSecond: 0.5, Burst: 20, MaxBody: 64 << 10}, rules.peers[1].grant.Limits)
}

func TestOpenNamesAllMistakes(t *testing.T) {
	got := mistakesOf(t, testdata(t, "bad.yaml"), map[string]string{
		"ok.token": "0123456789abcdef", "short.token": "0123456789abcde\n", "odd.token": "0123456789 abcdef",
	})
	golden(t, "bad.txt", got+"\n")
	assert.NotContains(t, got, "s3cr3t")
}

func TestOpenRefusesWhatIsNoAccessFile(t *testing.T) {
	const nobody = "access.yaml:1: nobody is named, so that nobody could ask anything; add tokens, service_accounts, certificates or unix_peers"
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", nobody},
		{"only a comment", "# to do\n", nobody},
		{"a null document", "---\n", nobody},
		{"no entries", "tokens: []\n", nobody},
		{"a list", "- tokens", "access.yaml:1: an access file: want a mapping with tokens, service_accounts, certificates, unix_peers, limits"},
		{"two documents", "tokens: []\n---\ntokens: []", "access.yaml:1: an access file is one YAML document; remove what follows the first"},
		{"no YAML", "tokens:\n\t- x", "access.yaml:2: this is no YAML: found character that cannot start any token"},
		{"a token in place of an anchor", "tokens: *s3cr3t\n", "access.yaml:1: this is no YAML: it refers to an anchor that is nowhere"},
		{"an alias", "limits: &l {burst: 1}\ntokens: *l\n", "access.yaml:2: tokens: aliases are not followed; write it out"},
		{"a merge", "limits: {<<: {burst: 1}}", `access.yaml:1: unknown key "<<"; known are requests_per_second, burst, max_body`},
	} {
		got := mistakesOf(t, test.text, nil)
		if test.name == "an alias" {
			assert.Contains(t, got, test.want, test.name)
			continue
		}
		assert.Equal(t, test.want, got, test.name)
	}
	_, err := Open(t.Context(), Options{File: "testdata/absent.yaml"})
	assert.EqualError(t, err, "read access file: stat testdata/absent.yaml: no such file or directory")
	_, err = Open(t.Context(), Options{File: "testdata"})
	assert.EqualError(t, err, "read access file: testdata is no regular file")
	assert.Contains(t, mistakesOf(t, strings.Repeat("#", maxFile+1), nil), "has more than 1048576 bytes")
}

// An entry that an earlier one hides would look as if it held; one that only might be hidden is let alone.
func TestCovers(t *testing.T) {
	for _, test := range []struct {
		wide, narrow string
		want         bool
	}{
		{"a", "a", true},
		{"*", "a", true},
		{"*", "a*", true},
		{"a*", "ab*c", true},
		{"[ab]", "[ab]", true},
		{"a*", "*", false},
		{"a", "*", false},
		{"?", "*", false},
		{"*", "?", false},
		{"*", "a/b", false},
		{"a/*", "a/b", true},
	} {
		assert.Equal(t, test.want, covers(test.wide, test.narrow), "%s covers %s", test.wide, test.narrow)
	}
}
