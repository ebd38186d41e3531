package bundle

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func pair(t *testing.T, alg string) (private, public []byte) {
	t.Helper()
	var key, open any
	switch alg {
	case "HS256":
		secret := []byte("a secret of the platform team")
		return secret, secret
	case "ES256":
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		key, open = k, &k.PublicKey
	default:
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		require.NoError(t, err)
		key, open = k, &k.PublicKey
	}
	a, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	b, err := x509.MarshalPKIXPublicKey(open)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: a}), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: b})
}

func sample(t *testing.T) *Bundle {
	t.Helper()
	packed := zipped(t, tarOf(t, rule, file("data.json", `{"n": {"b": 1, "a": [true, null]}}`), file("x/data.yaml", "n: yes\n")))
	b, err := Read("b", bytes.NewReader(packed), Limits{})
	require.NoError(t, err)
	return b
}

func TestVerifyRefuses(t *testing.T) {
	private, public := pair(t, "RS256")
	foreign, _ := pair(t, "RS256")
	sign := func(b *Bundle, s Signing) {
		_, err := b.Sign(s)
		require.NoError(t, err)
	}
	forge := func(b *Bundle, head string, key []byte) {
		var text struct{ Signatures []string }
		require.NoError(t, json.Unmarshal(b.files[signaturesFile], &text))
		parts := strings.Split(text.Signatures[0], ".")
		parts[0] = base64.RawURLEncoding.EncodeToString([]byte(head))
		if key == nil {
			parts[2] = ""
		}
		b.files[signaturesFile], _ = json.Marshal(map[string]any{"signatures": []string{strings.Join(parts, ".")}})
	}
	good := Signing{Key: Key{Text: private}, Scope: "prod", Claims: map[string]any{"keyid": "k"}}
	const notKey = `file ".signatures.json": it is not signed by the verification key, or the signature was changed`
	for _, test := range []struct {
		name, want string
		change     func(b *Bundle)
	}{
		{"good", "", func(*Bundle) {}},
		{"other spelling of the same data", "", func(b *Bundle) { b.files["data.json"] = []byte(`{"n":{"a":[true,null],"b":1}}`) }},
		{"unsigned", "it is not signed, and only signed bundles are allowed; sign it with `tiergate bundle sign`", func(b *Bundle) { delete(b.files, signaturesFile) }},
		{"foreign", notKey, func(b *Bundle) { s := good; s.Key.Text = foreign; sign(b, s) }},
		{"changed", `file "a.rego": it is not what was signed`, func(b *Bundle) { b.files["a.rego"] = []byte("package site.a\n") }},
		{"changed data", `file "x/data.yaml": it is not what was signed`, func(b *Bundle) { b.files["x/data.yaml"] = []byte("n: no\n") }},
		{"added", `file "b.rego": it is not part of the signature`, func(b *Bundle) { b.files["b.rego"] = []byte("package b") }},
		{"second signature file", `file "x/.signatures.json": it is not part of the signature`, func(b *Bundle) { b.files["x/.signatures.json"] = []byte("{}") }},
		{"removed", `file "x/data.yaml": it was signed and is missing`, func(b *Bundle) { delete(b.files, "x/data.yaml") }},
		{"scope", `file ".signatures.json": it is signed for scope "dev"; allowed is "prod"`, func(b *Bundle) { s := good; s.Scope = "dev"; sign(b, s) }},
		{"no scope", `file ".signatures.json": it is signed for scope ""; allowed is "prod"`, func(b *Bundle) { s := good; s.Scope = ""; sign(b, s) }},
		{"key id", `file ".signatures.json": it names key "other"; allowed is "k"`, func(b *Bundle) { s := good; s.Claims = map[string]any{"keyid": "other"}; sign(b, s) }},
		{"foreign with the right key id", notKey, func(b *Bundle) { s := good; s.Key.Text = foreign; s.Claims = map[string]any{"keyid": "k"}; sign(b, s) }},
		{"none", `file ".signatures.json": it is signed by "none"; allowed is RS256, which the verification key is for`, func(b *Bundle) { forge(b, `{"alg":"none"}`, nil) }},
		{"HS256 with the public key", `file ".signatures.json": it is signed by "HS256"; allowed is RS256, which the verification key is for`, func(b *Bundle) { forge(b, `{"alg":"HS256"}`, public) }},
		{"changed header", notKey, func(b *Bundle) { forge(b, `{"alg":"RS256","kid":"k"}`, public) }},
		{"no signatures", `file ".signatures.json": it has 0 signatures; allowed is exactly one`, func(b *Bundle) { b.files[signaturesFile] = []byte(`{}`) }},
		{"no token", `file ".signatures.json": its signature is no JSON Web Token`, func(b *Bundle) { b.files[signaturesFile] = []byte(`{"signatures": ["x"]}`) }},
	} {
		b := sample(t)
		sign(b, good)
		test.change(b)
		err := b.Verify(Verification{Key: Key{Text: public}, Scope: "prod", KeyID: "k"})
		if test.want == "" {
			assert.NoError(t, err, test.name)
		} else {
			assert.EqualError(t, err, "bundle b: "+test.want, test.name)
		}
	}
	b := sample(t)
	sign(b, good)
	err := b.Verify(Verification{Key: Key{Text: public, Algorithm: "HS256"}, Scope: "prod"})
	assert.EqualError(t, err, "bundle b: verification key: the key is a PUBLIC KEY in PEM, and HS256 takes a shared secret; "+
		"name the algorithm that the key is for")
	err = b.Verify(Verification{Key: Key{Text: public, Algorithm: "ES256"}})
	assert.EqualError(t, err, "bundle b: verification key: the key, a *rsa.PublicKey, is not one for ES256")
}

// TestInteroperatesWithOPA signs with each program and verifies with the other.
func TestInteroperatesWithOPA(t *testing.T) {
	opa := filepath.Join(t.TempDir(), "opa")
	build := exec.CommandContext(t.Context(), "go", "build", "-modfile=tools/go.mod", "-o", opa, "github.com/open-policy-agent/opa")
	build.Dir = "../.."
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, alg := range []string{"RS256", "ES256", "HS256"} {
		t.Run(alg, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name string, text []byte) string {
				p := filepath.Join(dir, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
				require.NoError(t, os.WriteFile(p, text, 0o644))
				return p
			}
			run := func(args ...string) ([]byte, error) {
				command := exec.CommandContext(t.Context(), opa, args...)
				command.Dir, command.Stdin = dir, strings.NewReader("data.site.a.x\nexit\n")
				return command.CombinedOutput()
			}
			private, public := pair(t, alg)
			privateFile, publicFile := write("private", private), write("public", public)
			write("site/a.rego", []byte(rule.text))
			write("site/x/data.json", []byte(`{"n": 1}`))
			out, err := run("build", "-b", "site", "-o", "theirs.tar.gz", "--signing-key", privateFile, "--signing-alg", alg)
			require.NoError(t, err, "%s", out)
			packed, err := os.ReadFile(filepath.Join(dir, "theirs.tar.gz"))
			require.NoError(t, err)
			theirs, err := Read("theirs", bytes.NewReader(packed), Limits{})
			require.NoError(t, err)
			require.NoError(t, theirs.Verify(Verification{Key: Key{Text: public, Algorithm: alg}}))

			ours := sample(t)
			_, err = ours.Sign(Signing{Key: Key{Text: private, Algorithm: alg}, Scope: "prod"})
			require.NoError(t, err)
			eval := func(b *Bundle) ([]byte, error) {
				var out bytes.Buffer
				require.NoError(t, b.Write(&out))
				write("ours.tar.gz", out.Bytes())
				return run("run", "-b", "ours.tar.gz", "--verification-key", publicFile, "--signing-alg", alg, "--scope", "prod")
			}
			out, err = eval(ours)
			require.NoError(t, err, "%s", out)
			assert.True(t, strings.HasSuffix(string(out), "\n\n1\n"), "%s", out)
			tampered := &Bundle{files: maps.Clone(ours.files)}
			tampered.files["a.rego"] = []byte("package site.a\n\nx := 2\n")
			out, err = eval(tampered)
			assert.Error(t, err, "%s", out)
		})
	}
}
