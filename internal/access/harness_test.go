package access

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

const (
	ciToken     = "the-plain-token-of-ci"
	workerToken = "the-plain-token-of-worker"
	issuer      = "https://kubernetes.default.svc.cluster.local"
	audience    = "tiergate"
)

func hashOf(token string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(token))) }

// folder writes files beside each other and gives the path of the first, access.yaml.
func folder(t testing.TB, text string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "access.yaml"), text)
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	return filepath.Join(dir, "access.yaml")
}

func write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func open(t testing.TB, text string, files map[string]string) *Guard {
	t.Helper()
	guard, err := Open(t.Context(), Options{File: folder(t, text, files)})
	require.NoError(t, err)
	return guard
}

// asking is a request with these Authorization headers.
func asking(authorization ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/v1/validate", nil)
	if len(authorization) > 0 {
		r.Header["Authorization"] = authorization
	}
	return r
}

// refused tells why a request is refused; it must be for want of credentials.
func refused(t testing.TB, guard *Guard, r *http.Request) string {
	t.Helper()
	identity, err := guard.Identify(r)
	require.Nil(t, identity)
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, v1.CodeUnauthenticated, e.Code)
	return e.Detail
}

func identified(t testing.TB, guard *Guard, r *http.Request) *Identity {
	t.Helper()
	identity, err := guard.Identify(r)
	require.NoError(t, err)
	return identity
}

// signer is a cluster that signs tokens.
type signer struct {
	alg     jwa.SignatureAlgorithm
	kid     string
	private crypto.Signer
}

// rsaSigner is made once: RSA keys are slow to find.
var rsaSigner = sync.OnceValue(func() *signer {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return &signer{jwa.RS256(), "key-1", private}
})

func ecSigner(t testing.TB, kid string) *signer {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return &signer{jwa.ES256(), kid, private}
}

// public is the key as a key set has it.
func (s *signer) public(t testing.TB, more map[string]any) map[string]any {
	t.Helper()
	key, err := jwk.Import(s.private.Public())
	require.NoError(t, err)
	text, err := json.Marshal(key)
	require.NoError(t, err)
	fields := map[string]any{}
	require.NoError(t, json.Unmarshal(text, &fields))
	fields["kid"], fields["use"], fields["alg"] = s.kid, "sig", s.alg.String()
	maps.Copy(fields, more)
	return fields
}

func keySetOf(t testing.TB, signers ...*signer) string {
	t.Helper()
	keys := []any{}
	for _, s := range signers {
		keys = append(keys, s.public(t, nil))
	}
	return keySetText(t, keys...)
}

func keySetText(t testing.TB, keys ...any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"keys": keys})
	require.NoError(t, err)
	return string(text)
}

// token is one for the account vllm of namespace inference, with what change changes; nil removes.
func (s *signer) token(t testing.TB, change map[string]any) string {
	t.Helper()
	return s.sign(t, nil, claimsText(t, change))
}

func claimsText(t testing.TB, change map[string]any) []byte {
	t.Helper()
	claims := map[string]any{
		"iss": issuer, "sub": "system:serviceaccount:inference:vllm", "aud": []string{audience},
		"iat": time.Now().Unix(), "nbf": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{
			"namespace": "inference", "serviceaccount": map[string]any{"name": "vllm"}, "pod": map[string]any{"name": "vllm-0"},
		},
	}
	for key, value := range change {
		if claims[key] = value; value == nil {
			delete(claims, key)
		}
	}
	text, err := json.Marshal(claims)
	require.NoError(t, err)
	return text
}

// sign signs any text, with headers of its own.
func (s *signer) sign(t testing.TB, headers map[string]any, payload []byte) string {
	t.Helper()
	protected := jws.NewHeaders()
	require.NoError(t, protected.Set("kid", s.kid))
	for key, value := range headers {
		require.NoError(t, protected.Set(key, value))
	}
	token, err := jws.Sign(payload, jws.WithKey(s.alg, s.private, jws.WithProtectedHeaders(protected)))
	require.NoError(t, err)
	return string(token)
}

// inCluster is an access file for the accounts of a cluster whose keys are in jwks.json.
func inCluster(accounts string) string {
	return "service_accounts:\n  issuer: " + issuer + "\n  audience: " + audience + "\n  jwks: jwks.json\n  accounts:\n" + accounts
}

const vllmAccount = "    - {namespace: inference, name: vllm, tenant: a, roles: [worker]}\n"

// logged keeps what is logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
