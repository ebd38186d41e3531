package access

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
)

// algorithms are those of public keys. Neither none nor a shared secret is one of them, whatever the header of a token says.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

func algorithm(name string) jwa.SignatureAlgorithm {
	alg, _ := jwa.LookupSignatureAlgorithm(name) // all of the above are known there
	return alg
}

const (
	// maxKeys bounds the keys of a set. Clusters have one or two, three while they change them.
	maxKeys = 64
	// The size of RSA keys is bounded from below by what cannot be broken, from above by the time that a signature takes. Bits.
	leastRSA = 2048
	mostRSA  = 8192
)

// keySet is the public keys of a cluster by their ids, immutable.
type keySet struct {
	digest [sha256.Size]byte
	byID   map[string]publicKey
}

type publicKey struct {
	public crypto.PublicKey
	// algorithms are those that the key may be used with. The header of a token only chooses among them.
	algorithms []string
}

var (
	errNoKeySet = errors.New(`this is no JSON web key set, {"keys": [...]}, as an API server gives it at /openid/v1/jwks`)
	errNoKeys   = fmt.Errorf("the key set has no public key with an id (kid) for any of %v", algorithms)
	errPrivate  = errors.New("the key set holds a private or shared key, with which anybody who reads it can sign; make a new one, and give its public half")
	errSameID   = errors.New("the key set has two keys with one id (kid)")
	errMany     = fmt.Errorf("the key set has more than %d keys", maxKeys)
)

// parseKeySet reads a key set. Keys for other purposes and of kinds that are not known are passed over, as RFC 7517 has it.
func parseKeySet(text []byte) (*keySet, error) {
	var document struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, errNoKeySet // the reason could quote the key
	}
	if len(document.Keys) > maxKeys {
		return nil, errMany
	}
	set := &keySet{digest: sha256.Sum256(text), byID: map[string]publicKey{}}
	for _, raw := range document.Keys {
		if holdsSecret(raw) {
			return nil, errPrivate
		}
		parsed, err := jwk.ParseKey(raw)
		if err != nil {
			continue
		}
		id, _ := parsed.KeyID()
		key, usable := usableKey(parsed)
		if !usable || id == "" {
			continue
		}
		if _, taken := set.byID[id]; taken {
			return nil, errSameID
		}
		set.byID[id] = key
	}
	if len(set.byID) == 0 {
		return nil, errNoKeys
	}
	return set, nil
}

// holdsSecret finds the members of private and shared keys of every kind, whether or not the key can be read otherwise.
func holdsSecret(raw jsontext.Value) bool {
	var members map[string]jsontext.Value
	_ = json.Unmarshal(raw, &members) // what is no object has none
	for _, name := range []string{"d", "k", "priv"} {
		if _, there := members[name]; there {
			return true
		}
	}
	return false
}

// usableKey takes a key that signatures can be verified with, and finds the algorithms that it is for.
func usableKey(parsed jwk.Key) (key publicKey, usable bool) {
	if use, given := parsed.KeyUsage(); given && use != "sig" {
		return key, false
	}
	var raw any
	if err := jwk.Export(parsed, &raw); err != nil {
		return key, false
	}
	switch public := raw.(type) {
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits >= leastRSA && bits <= mostRSA {
			key = publicKey{public, algorithms[:6]}
		}
	case *ecdsa.PublicKey:
		size := map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[public.Params().BitSize]
		if slices.Contains(algorithms, size) {
			key = publicKey{public, []string{size}}
		}
	case ed25519.PublicKey:
		key = publicKey{public, []string{"EdDSA"}}
	}
	if alg, given := parsed.Algorithm(); given && key.public != nil {
		if !slices.Contains(key.algorithms, alg.String()) {
			return key, false
		}
		key.algorithms = []string{alg.String()}
	}
	return key, key.public != nil
}
