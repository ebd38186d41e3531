package access

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const twoTokens = `
tokens:
  - {name: ci, sha256: CI, tenant: a, roles: [launcher]}
  - {name: worker, file: worker.token, tenant: b, roles: [worker], engines: ["llm-*"]}
`

func openTokens(t testing.TB) *Guard {
	return open(t, strings.Replace(twoTokens, "CI", strings.ToUpper(hashOf(ciToken)), 1), map[string]string{"worker.token": workerToken + "\n"})
}

func TestIdentifyByToken(t *testing.T) {
	guard := openTokens(t)
	assert.Equal(t, &Identity{Name: "token:ci", Tenant: "a", Roles: []Role{Launcher}}, identified(t, guard, asking("Bearer "+ciToken)))
	worker := identified(t, guard, asking("bearer   "+workerToken+" "))
	assert.Equal(t, &Identity{Name: "token:worker", Tenant: "b", Roles: []Role{Worker}, Engines: []string{"llm-*"}}, worker)
	assert.True(t, worker.Has(Worker) && worker.Owns("llm-7"))
	assert.False(t, worker.Has(Admin) || worker.Owns("other") || worker.Owns("llm-7/x"))
	assert.Same(t, worker, identified(t, guard, asking("Bearer "+workerToken)), "nothing is made anew for each request")
}

func TestIdentifyRefusesTokens(t *testing.T) {
	guard := openTokens(t)
	const (
		taken  = "taken are: a bearer token that the access file names"
		noOne  = "no entry has this bearer token; " + taken
		noForm = "the Authorization header holds no bearer token; write Authorization: Bearer TOKEN"
	)
	for _, test := range []struct {
		name   string
		header []string
		want   string
	}{
		{"nothing", nil, "the request shows no credentials; " + taken},
		{"empty", []string{""}, noForm},
		{"no token", []string{"Bearer "}, noForm},
		{"no scheme", []string{ciToken}, noForm},
		{"another scheme", []string{"Basic " + ciToken}, noForm},
		{"a tab", []string{"Bearer\t" + ciToken}, noForm},
		{"two headers", []string{"Bearer " + ciToken, "Bearer " + ciToken}, "the request has 2 Authorization headers; send one"},
		{"two tokens", []string{"Bearer " + ciToken + " " + workerToken}, noOne},
		{"a part", []string{"Bearer " + ciToken[:len(ciToken)-1]}, noOne},
		{"its hash", []string{"Bearer " + hashOf(ciToken)}, noOne},
		{"a signed one", []string{"Bearer a.b.c"}, "no entry has this bearer token; it looks like a signed one, and the access file has no service_accounts; " + taken},
		{"a long one", []string{"Bearer " + strings.Repeat("x", maxToken+1)}, "the bearer token has 8193 bytes; at most 8192 are looked at"},
	} {
		assert.Equal(t, test.want, refused(t, guard, asking(test.header...)), test.name)
	}
}

// Every entry is compared with, whichever matches: the identity of the last of two that are equal would come out, were both taken.
func TestTokensAreComparedWithoutEarlyExit(t *testing.T) {
	sum := [32]byte{1}
	first, last := &Identity{Name: "first"}, &Identity{Name: "last"}
	assert.Same(t, last, tokens{{sum: &sum, identity: first}, {sum: new([32]byte)}, {sum: &sum, identity: last}}.find(&sum))
	assert.Nil(t, tokens{{sum: new([32]byte), identity: first}}.find(&sum))
	assert.Nil(t, tokens(nil).find(&sum))
}

// What is taken is told by what the file has, so that a client learns what to send.
func TestTakenNamesEveryKind(t *testing.T) {
	guard := open(t, inCluster(vllmAccount)+`
certificates: [{subject: x, roles: [reader]}]
unix_peers: [{uid: 1, roles: [reader]}]
`, map[string]string{"jwks.json": keySetOf(t, rsaSigner())})
	assert.Equal(t, `the request shows no credentials; taken are: a service account's bearer token for the audience "tiergate"; `+
		`a client certificate; a unix socket`, refused(t, guard, asking()))
}

func TestAnonymousIsNoAdministrator(t *testing.T) {
	i := Anonymous()
	assert.Equal(t, "anonymous", i.Name)
	assert.True(t, i.Has(Launcher) && i.Has(Worker) && i.Has(Reader) && i.Owns("anything/at all"))
	assert.False(t, i.Has(Admin))
	assert.Empty(t, i.Tenant)
}
