package access

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func openCluster(t testing.TB, accounts string, signers ...*signer) *Guard {
	return open(t, inCluster(accounts), map[string]string{"jwks.json": keySetOf(t, signers...)})
}

func TestIdentifyByServiceAccount(t *testing.T) {
	ec := ecSigner(t, "key-2")
	guard := openCluster(t, vllmAccount+`
    - {namespace: "team-*", name: "*", tenant: "{namespace}", roles: [worker, reader], engines: ["{namespace}.{name}.*", "{pod}"]}
`, rsaSigner(), ec)
	want := &Identity{Name: "serviceaccount:inference/vllm", Tenant: "a", Roles: []Role{Worker}}
	for _, s := range []*signer{rsaSigner(), ec} {
		assert.Equal(t, want, identified(t, guard, asking("Bearer "+s.token(t, nil))), s.alg)
		assert.Equal(t, want, identified(t, guard, asking("Bearer "+s.token(t, map[string]any{"aud": audience, "nbf": nil}))), s.alg)
	}
	team := ec.token(t, map[string]any{"sub": "system:serviceaccount:team-x:sa", "kubernetes.io": map[string]any{"pod": map[string]any{"name": "vllm-0-1"}}})
	assert.Equal(t, &Identity{
		Name: "serviceaccount:team-x/sa", Tenant: "team-x", Roles: []Role{Worker, Reader}, Engines: []string{"team-x.sa.*", "vllm-0-1"},
	}, identified(t, guard, asking("Bearer "+team)))
	assert.Same(t, identified(t, guard, asking("Bearer "+team)), identified(t, guard, asking("Bearer "+team)), "verified once")
	other := ec.token(t, map[string]any{"sub": "system:serviceaccount:team-y:sb", "kubernetes.io": map[string]any{"pod": map[string]any{"name": "p"}}})
	assert.Equal(t, []string{"team-y.sb.*", "p"}, identified(t, guard, asking("Bearer "+other)).Engines, "names are filled in for each")
}

func TestServiceAccountsAreTakenInTheOrderOfTheFile(t *testing.T) {
	guard := openCluster(t, `
    - {namespace: inference, name: vllm, tenant: first, roles: [worker]}
    - {namespace: "*", name: vllm, tenant: second, roles: [worker]}
`, rsaSigner())
	assert.Equal(t, "first", identified(t, guard, asking("Bearer "+rsaSigner().token(t, nil))).Tenant)
	other := rsaSigner().token(t, map[string]any{"sub": "system:serviceaccount:b:vllm", "kubernetes.io": nil})
	assert.Equal(t, "second", identified(t, guard, asking("Bearer "+other)).Tenant)
}

// at sets the clock of a guard.
func at(guard *Guard, now time.Time) {
	guard.now = func() time.Time { return now }
	guard.rules.Load().accounts.keys.now = guard.now
}

func TestIdentifyRefusesClaims(t *testing.T) {
	guard := openCluster(t, vllmAccount+"    - {namespace: pods, name: sa, roles: [worker], engines: [\"{pod}\"]}\n", rsaSigner())
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	at(guard, now)
	const holder = "the token of serviceaccount:inference/vllm"
	for _, test := range []struct {
		name   string
		change map[string]any
		want   string
	}{
		{"another issuer", map[string]any{"iss": "https://other"}, `the bearer token says that "https://other" issued it; it must be of "` + issuer + `"`},
		{"no issuer", map[string]any{"iss": nil}, `the bearer token says that "" issued it; it must be of "` + issuer + `"`},
		{"another audience", map[string]any{"aud": []any{"y", "z"}}, holder + ` is for the audience "y, z"; it must be for the audience "tiergate": project one with that audience into the pod`},
		{"no audience", map[string]any{"aud": nil}, holder + ` is for no audience; it must be for the audience "tiergate": project one with that audience into the pod`},
		{"an audience of another kind", map[string]any{"aud": []any{7}}, holder + ` is for no audience; it must be for the audience "tiergate": project one with that audience into the pod`},
		{"no end", map[string]any{"exp": nil}, holder + " never runs out; only projected tokens are taken, which do"},
		{"an end beyond time", map[string]any{"exp": 1e300}, holder + " has times that are none"},
		{"expired", map[string]any{"exp": now.Unix() - 30}, holder + " ran out at 2026-12-01T11:59:30Z, and it is 2026-12-01T12:00:00Z here; read the token's file anew for each request"},
		{"not yet", map[string]any{"nbf": now.Unix() + 31}, holder + " is not valid before 2026-12-01T12:00:31Z, and it is 2026-12-01T12:00:00Z here; compare the clocks"},
		{"an end that is a text", map[string]any{"exp": "1"}, "the bearer token has the two dots of a signed one, and cannot be read as one; see that it is whole"},
		{"a user", map[string]any{"sub": "admin"}, `the token of "admin" is not that of a service account`},
		{"a subject of four", map[string]any{"sub": "system:serviceaccount:a:b:c"}, `the token of "system:serviceaccount:a:b:c" is not that of a service account`},
		{"a pattern for a name", map[string]any{"sub": "system:serviceaccount:*:vllm"}, `the token of "system:serviceaccount:*:vllm" is not that of a service account`},
		{"two namespaces", map[string]any{"kubernetes.io": map[string]any{"namespace": "other"}}, holder + " contradicts itself: its subject and its kubernetes.io claim are not of one account"},
		{"a pattern for a pod", map[string]any{"kubernetes.io": map[string]any{"pod": map[string]any{"name": "*"}}}, holder + " contradicts itself: its subject and its kubernetes.io claim are not of one account"},
		{"an account that no entry has", map[string]any{"sub": "system:serviceaccount:b:vllm", "kubernetes.io": nil}, "the token of serviceaccount:b/vllm is good, and no entry of accounts is for it; have it added to the access file"},
		{"a needed pod", map[string]any{"sub": "system:serviceaccount:pods:sa", "kubernetes.io": nil}, "the token of serviceaccount:pods/sa is bound to no pod, and its engines are named by one; use a projected token"},
	} {
		change := map[string]any{"exp": now.Unix() + 60, "nbf": now.Unix()}
		for key, value := range test.change {
			change[key] = value
		}
		assert.Equal(t, test.want, refused(t, guard, asking("Bearer "+rsaSigner().token(t, change))), test.name)
	}
	for _, change := range []map[string]any{{"exp": now.Unix() - 29, "nbf": nil}, {"nbf": now.Unix() + 30, "exp": now.Unix() + 60}} {
		identified(t, guard, asking("Bearer "+rsaSigner().token(t, change)))
	}
}

// Nothing that a token's header says can make a key be used for what it is not for.
func TestIdentifyRefusesSignatures(t *testing.T) {
	rsa, ec, foreign := rsaSigner(), ecSigner(t, "key-2"), ecSigner(t, "key-2")
	guard := openCluster(t, vllmAccount, rsa, ec)
	const allowed = "allowed are RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA"
	public := []byte(fmt.Sprint(rsa.public(t, nil)["n"]))
	hmac, err := jws.Sign(claimsText(t, nil), jws.WithKey(jwa.HS256(), public))
	require.NoError(t, err)
	good := rsa.token(t, nil)
	parts := strings.Split(good, ".")
	encode := base64.RawURLEncoding.EncodeToString
	with := func(header string) string { return encode([]byte(header)) + "." + parts[1] + "." + parts[2] }
	unread := "the bearer token has the two dots of a signed one, and cannot be read as one; see that it is whole"
	for _, test := range []struct{ name, token, want string }{
		{"none", encode([]byte(`{"alg":"none","kid":"key-1"}`)) + "." + parts[1] + ".", `the bearer token says that it is signed with "none"; ` + allowed},
		{"None", with(`{"alg":"None","kid":"key-1"}`), `the bearer token says that it is signed with "None"; ` + allowed},
		{"no algorithm", with(`{"kid":"key-1"}`), `the bearer token says that it is signed with ""; ` + allowed},
		{"HS256 with the public key", string(hmac), `the bearer token says that it is signed with "HS256"; ` + allowed},
		{"RS256 with an EC key", with(`{"alg":"RS256","kid":"key-2"}`), `the bearer token says that it is signed with "RS256"; the key "key-2" is for ES256`},
		{"PS256 with a key for RS256", with(`{"alg":"PS256","kid":"key-1"}`), `the bearer token says that it is signed with "PS256"; the key "key-1" is for RS256`},
		{"another key with a known id", foreign.token(t, nil), `the signature of the bearer token is not that of the key "key-2"`},
		{"an unknown key", ecSigner(t, "key-3").token(t, nil), `the bearer token says that it is signed with the key "key-3", which is none of the keys of "` + issuer + `"; see that the pod is of that cluster`},
		{"no key", with(`{"alg":"RS256"}`), `the bearer token says that it is signed with the key "", which is none of the keys of "` + issuer + `"; see that the pod is of that cluster`},
		{"a key of its own", with(`{"alg":"RS256","kid":"key-9","jwk":{}}`), `the bearer token says that it is signed with the key "key-9", which is none of the keys of "` + issuer + `"; see that the pod is of that cluster`},
		{"other claims", parts[0] + "." + encode(claimsText(t, map[string]any{"sub": "system:serviceaccount:inference:vllm2"})) + "." + parts[2], `the signature of the bearer token is not that of the key "key-1"`},
		{"no signature", parts[0] + "." + parts[1] + ".", `the signature of the bearer token is not that of the key "key-1"`},
		{"critical extensions", rsa.sign(t, map[string]any{"crit": []string{"exp"}, "exp": 1}, claimsText(t, nil)), "the bearer token has extensions that must be understood (crit), and none is known here"},
		{"a header with one name twice", with(`{"alg":"RS256","alg":"none","kid":"key-1"}`), unread},
		{"no base64", "Ö.Ö.Ö", unread},
		{"no JSON", encode([]byte("x")) + "." + parts[1] + "." + parts[2], unread},
		{"dots", "..", unread},
		{"four parts", good + ".x", "no entry has this bearer token; taken are: a service account's bearer token for the audience \"tiergate\""},
	} {
		assert.Equal(t, test.want, refused(t, guard, asking("Bearer "+test.token)), test.name)
	}
	identified(t, guard, asking("Bearer "+good))
}

// What was verified ends with the token, not with the memory of it.
func TestVerifiedTokensRunOut(t *testing.T) {
	guard, now := openCluster(t, vllmAccount, rsaSigner()), time.Now()
	token := rsaSigner().token(t, map[string]any{"exp": now.Unix() + 60})
	identified(t, guard, asking("Bearer "+token))
	at(guard, now.Add(89*time.Second))
	identified(t, guard, asking("Bearer "+token))
	at(guard, now.Add(91*time.Second))
	assert.Contains(t, refused(t, guard, asking("Bearer "+token)), "ran out at")
}
