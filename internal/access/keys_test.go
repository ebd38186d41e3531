package access

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// cluster serves keys at a URL, however the test wants it.
type cluster struct {
	*httptest.Server
	answer atomic.Pointer[http.HandlerFunc]
	asked  atomic.Int64
	guard  *Guard
	log    logged
	now    time.Time
}

func answering(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// newCluster opens a guard on a cluster that answers as told. Its time stands still but for what the test adds.
func newCluster(t *testing.T, answer http.HandlerFunc) *cluster {
	t.Helper()
	c := new(cluster)
	c.answer.Store(&answer)
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.asked.Add(1)
		(*c.answer.Load())(w, r)
	}))
	c.Config.ErrorLog = log.New(io.Discard, "", 0)
	c.StartTLS()
	t.Cleanup(c.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
	file := folder(t, strings.Replace(inCluster(vllmAccount), "jwks: jwks.json",
		"jwks: "+c.URL+"/openid/v1/jwks\n  jwks_ca: ca.crt\n  jwks_token: sa.token", 1),
		map[string]string{"ca.crt": string(ca), "sa.token": "the-token-of-this-service\n"})
	guard, err := Open(t.Context(), Options{File: file, Logger: c.log.logger()})
	require.NoError(t, err)
	c.guard, c.now = guard, time.Now()
	c.pass(0)
	return c
}

func (c *cluster) answers(handler http.HandlerFunc) { c.answer.Store(&handler) }

func (c *cluster) pass(d time.Duration) {
	c.now = c.now.Add(d)
	at(c.guard, c.now)
}

func (c *cluster) keys() *keys { return c.guard.rules.Load().accounts.keys }

// unavailable must be told apart from a wrong token: the same request may be good later.
func (c *cluster) unavailable(t *testing.T, token string) {
	t.Helper()
	_, err := c.guard.Identify(asking("Bearer " + token))
	assert.Equal(t, &Error{
		Code: v1.CodeKeysUnavailable, RetryAfter: fetchPause,
		Detail: "the keys that service account tokens are verified with cannot be fetched; ask again, or see the log of this service",
	}, err)
}

func TestKeysAreFetchedWithTheTokenOfThisService(t *testing.T) {
	var path, authorization string
	c := newCluster(t, func(w http.ResponseWriter, r *http.Request) {
		path, authorization = r.URL.Path, r.Header.Get("Authorization")
		answering(http.StatusOK, keySetOf(t, rsaSigner()))(w, r)
	})
	assert.Equal(t, "serviceaccount:inference/vllm", identified(t, c.guard, asking("Bearer "+rsaSigner().token(t, nil))).Name)
	assert.Equal(t, []string{"/openid/v1/jwks", "Bearer the-token-of-this-service"}, []string{path, authorization})
	assert.EqualValues(t, 1, c.asked.Load())
	assert.EqualValues(t, 1, c.guard.State().Keys.Successes)
}

// A new key is found by the first token that it signed; junk makes nobody ask more than once in the pause.
func TestUnknownKeysAreAskedForOnceInAPause(t *testing.T) {
	c := newCluster(t, answering(http.StatusOK, keySetOf(t, rsaSigner())))
	fresh := ecSigner(t, "key-2")
	c.answers(answering(http.StatusOK, keySetOf(t, rsaSigner(), fresh)))
	assert.Contains(t, refused(t, c.guard, asking("Bearer "+fresh.token(t, nil))), `is signed with the key "key-2", which is none`)
	assert.EqualValues(t, 1, c.asked.Load(), "the set came just now")
	c.pass(fetchPause)
	identified(t, c.guard, asking("Bearer "+fresh.token(t, nil)))
	assert.EqualValues(t, 2, c.asked.Load())

	c.pass(fetchPause)
	junk := ecSigner(t, "junk")
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { refused(t, c.guard, asking("Bearer "+junk.token(t, nil))) })
	}
	all.Wait()
	assert.EqualValues(t, 3, c.asked.Load())
	foreign := junk.token(t, map[string]any{"iss": "https://other"})
	c.pass(fetchPause)
	refused(t, c.guard, asking("Bearer "+foreign))
	assert.EqualValues(t, 3, c.asked.Load(), "tokens of other clusters are no reason to ask")
}

// A key that the cluster has no more ends with the next refresh, also for tokens that were verified before.
func TestKeysThatAreGoneCountNoMore(t *testing.T) {
	c := newCluster(t, answering(http.StatusOK, keySetOf(t, rsaSigner())))
	old := rsaSigner().token(t, nil)
	first := identified(t, c.guard, asking("Bearer "+old))
	c.pass(refreshAfter)
	c.guard.refreshKeys(t.Context())
	assert.EqualValues(t, 2, c.asked.Load())
	assert.Same(t, first, identified(t, c.guard, asking("Bearer "+old)), "the same keys are no reason to verify anew")
	c.answers(answering(http.StatusOK, keySetOf(t, ecSigner(t, "key-2"))))
	c.guard.refreshKeys(t.Context())
	identified(t, c.guard, asking("Bearer "+old))
	c.pass(refreshAfter)
	c.guard.refreshKeys(t.Context())
	assert.Contains(t, refused(t, c.guard, asking("Bearer "+old)), `"key-1", which is none`)
}

func TestLastGoodKeysCountForAWhile(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		reason string
	}{
		{"an error", answering(http.StatusInternalServerError, "secret-page"), `answers \"500 Internal Server Error\"; it must answer 200`},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, `answers \"302 Found\"`},
		{"too much", answering(http.StatusOK, strings.Repeat(" ", maxKeySet+1)), "answers with more than 262144 bytes"},
		{"a page", answering(http.StatusOK, "<html>secret-page"), "this is no JSON web key set"},
		{"no keys", answering(http.StatusOK, `{"keys": []}`), "the key set has no public key with an id (kid)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, answering(http.StatusOK, keySetOf(t, rsaSigner())))
			token, unknown := rsaSigner().token(t, nil), ecSigner(t, "key-2").token(t, nil)
			c.answers(test.answer)
			c.pass(refreshAfter)
			c.guard.refreshKeys(t.Context())
			c.pass(refreshAfter)
			c.guard.refreshKeys(t.Context())
			identified(t, c.guard, asking("Bearer "+token))
			c.unavailable(t, unknown)
			assert.Contains(t, c.log.String(), test.reason)
			assert.Equal(t, 1, strings.Count(c.log.String(), "level=WARN"), "one cause is logged once")
			assert.NotContains(t, c.log.String(), "secret-page")
			assert.EqualValues(t, 2, c.guard.State().Keys.Failures)

			c.pass(keepKeys - 2*refreshAfter)
			c.unavailable(t, rsaSigner().token(t, nil))
			c.unavailable(t, token)
			c.answers(answering(http.StatusOK, keySetOf(t, rsaSigner())))
			c.pass(fetchPause)
			identified(t, c.guard, asking("Bearer "+token))
			assert.Contains(t, c.log.String(), "can be fetched again")
		})
	}
}

// A cluster that answers never holds nobody up for longer than the bound, and who hangs up cannot cut off the fetch.
func TestKeysFromAClusterThatHangs(t *testing.T) {
	c := newCluster(t, answering(http.StatusInternalServerError, ""))
	release := make(chan struct{})
	c.answers(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	c.keys().fetchTime = 20 * time.Millisecond
	c.pass(fetchPause)
	c.unavailable(t, rsaSigner().token(t, nil))
	close(release)
	assert.Contains(t, c.log.String(), "it took more than 20ms")

	c.keys().fetchTime = time.Minute
	c.answers(answering(http.StatusOK, keySetOf(t, rsaSigner())))
	c.pass(fetchPause)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	identified(t, c.guard, asking("Bearer "+rsaSigner().token(t, nil)).WithContext(gone))
}

func TestKeysOnlyFromWhomTheCAVouchesFor(t *testing.T) {
	c := newCluster(t, answering(http.StatusOK, keySetOf(t, rsaSigner())))
	write(t, c.keys().ca, string(newAuthority(t).pem()))
	c.pass(refreshAfter)
	c.guard.refreshKeys(t.Context())
	assert.Contains(t, c.log.String(), "x509: certificate signed by unknown authority")
	write(t, c.keys().ca, "no certificate")
	c.pass(fetchPause)
	c.guard.refreshKeys(t.Context())
	assert.Contains(t, c.log.String(), "read jwks_ca: it has no certificate in PEM")
	require.NoError(t, os.Remove(c.keys().token))
	write(t, c.keys().ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})))
	c.pass(fetchPause)
	c.guard.refreshKeys(t.Context())
	assert.Contains(t, c.log.String(), "read jwks_token: stat ")
}

func TestParseKeySet(t *testing.T) {
	rsa, ec := rsaSigner(), ecSigner(t, "key-2")
	private := map[string]any{"kty": "EC", "crv": "P-256", "kid": "p", "d": "AQ", "x": ec.public(t, nil)["x"], "y": ec.public(t, nil)["y"]}
	secret := map[string]any{"kty": "oct", "kid": "s", "k": "c2VjcmV0"}
	none := errNoKeys.Error()
	for _, test := range []struct {
		name, text, want string
	}{
		{"no JSON", "secret", errNoKeySet.Error()},
		{"no keys", "{}", none},
		{"a private key", keySetText(t, rsa.public(t, nil), private), errPrivate.Error()},
		{"a shared secret", keySetText(t, secret), errPrivate.Error()},
		{"one id for two", keySetText(t, rsa.public(t, nil), ec.public(t, map[string]any{"kid": "key-1"})), errSameID.Error()},
		{"a key without an id", keySetText(t, rsa.public(t, map[string]any{"kid": ""})), none},
		{"a key to encrypt with", keySetText(t, rsa.public(t, map[string]any{"use": "enc"})), none},
		{"a key of another algorithm", keySetText(t, ec.public(t, map[string]any{"alg": "RS256"})), none},
		{"a short key", keySetText(t, rsa.public(t, map[string]any{"n": "AQAB"})), none},
		{"kinds of the future", keySetText(t, map[string]any{"kty": "PQ", "kid": "x"}), none},
		{"too many", keySetText(t, make([]any, maxKeys+1)...), errMany.Error()},
	} {
		_, err := parseKeySet([]byte(test.text))
		assert.EqualError(t, err, test.want, test.name)
	}
	set, err := parseKeySet([]byte(keySetText(t, map[string]any{"kty": "PQ"}, rsa.public(t, map[string]any{"alg": "PS256"}), ec.public(t, nil))))
	require.NoError(t, err)
	assert.Equal(t, []string{"PS256"}, set.byID["key-1"].algorithms)
	assert.Equal(t, []string{"ES256"}, set.byID["key-2"].algorithms)
	assert.Len(t, set.byID, 2)
}
