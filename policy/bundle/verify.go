package bundle

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/bundle"
)

// Verification is what a signature must be like.
type Verification struct {
	// Key is the only key that counts: key ids in a signature choose none.
	Key   Key
	Scope string
	// KeyID, if set, must be the key id of the signature, beside the key.
	KeyID string
}

// strong are the hashes that a signature may use; OPA also takes MD5 and SHA-1.
var strong = []string{"SHA-256", "SHA-384", "SHA-512", "SHA-512-256"}

// Verify refuses a bundle without exactly one signature of the key, and one in which any file is not as it was signed.
func (b *Bundle) Verify(v Verification) error {
	if _, err := v.Key.parse(false); err != nil {
		return b.refuse("", "verification key: %s", err)
	}
	text, signed := b.files[signaturesFile]
	if !signed {
		return b.refuse("", "it is not signed, and only signed bundles are allowed; sign it with `tiergate bundle sign`")
	}
	var signatures bundle.SignaturesConfig
	if err := json.Unmarshal(text, &signatures); err != nil {
		return b.refuse(signaturesFile, "read: %s", err)
	}
	if n := len(signatures.Signatures); n != 1 {
		return b.refuse(signaturesFile, "it has %d signatures; allowed is exactly one", n)
	}
	payload, err := b.verifyToken(signatures, v)
	if err != nil {
		return err
	}
	return b.verifyFiles(payload.Files)
}

type claims struct {
	KeyID string            `json:"keyid"`
	Scope string            `json:"scope"`
	Files []bundle.FileInfo `json:"files"`
}

type header struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
}

func (b *Bundle) verifyToken(signatures bundle.SignaturesConfig, v Verification) (*claims, error) {
	parts := strings.Split(signatures.Signatures[0], ".")
	var head header
	var payload claims
	if len(parts) != 3 || decodePart(parts[0], &head) != nil || decodePart(parts[1], &payload) != nil {
		return nil, b.refuse(signaturesFile, "its signature is no JSON Web Token")
	}
	algorithm := v.Key.Algorithm
	if algorithm == "" {
		algorithm = Algorithms[0]
	}
	if head.Algorithm != algorithm {
		return nil, b.refuse(signaturesFile,
			"it is signed by %q; allowed is %s, which the verification key is for", head.Algorithm, algorithm)
	}
	// With a key id given, OPA's verifier uses that key whatever the token says. Its check of the scope cannot tell a
	// wrong scope by type, so it is given the scope of the token, and that is compared below.
	const only = "only"
	config := bundle.NewVerificationConfig(map[string]*bundle.KeyConfig{
		only: {Key: string(v.Key.Text), Algorithm: algorithm},
	}, only, payload.Scope, nil)
	if _, err := new(bundle.DefaultVerifier).VerifyBundleSignature(signatures, config); err != nil {
		return nil, b.refuse(signaturesFile, "it is not signed by the verification key, or the signature was changed")
	}
	if payload.Scope != v.Scope {
		return nil, b.refuse(signaturesFile, "it is signed for scope %q; allowed is %q", payload.Scope, v.Scope)
	}
	id := head.KeyID
	if id == "" {
		id = payload.KeyID
	}
	if v.KeyID != "" && id != v.KeyID {
		return nil, b.refuse(signaturesFile, "it names key %q; allowed is %q", id, v.KeyID)
	}
	return &payload, nil
}

func decodePart(part string, into any) error {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func (b *Bundle) verifyFiles(list []bundle.FileInfo) error {
	signed := map[string]bool{}
	for _, f := range list {
		if _, there := b.files[f.Name]; !there {
			return b.refuse(f.Name, "it was signed and is missing")
		}
		if signed[f.Name] {
			return b.refuse(f.Name, "the signature names it twice")
		}
		signed[f.Name] = true
		if !slices.Contains(strong, f.Algorithm) {
			return b.refuse(f.Name, "it is signed by its %q hash; allowed are %s", f.Algorithm, strings.Join(strong, ", "))
		}
		sum, err := b.hash(f.Name, bundle.HashingAlgorithm(f.Algorithm))
		if err != nil {
			return err
		}
		if !strings.EqualFold(hex.EncodeToString(sum), f.Hash) {
			return b.refuse(f.Name, "it is not what was signed")
		}
	}
	for _, name := range sorted(b.files) {
		if name != signaturesFile && !signed[name] {
			return b.refuse(name, "it is not part of the signature")
		}
	}
	return nil
}
