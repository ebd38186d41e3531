package bundle

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
)

// Algorithms are the signature algorithms, OPA's names; the first is the default. `none` is not one of them.
var Algorithms = []string{
	"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "HS256", "HS384", "HS512",
}

// leastSecret is the bytes that a shared secret needs. RFC 7518 wants the size of the hash; OPA does not, and neither
// can be told from a guessable one, so this refuses only what is no secret at all.
const leastSecret = 16

// Key is a key in PEM, or a shared secret with HS256 and its like.
type Key struct {
	Text      []byte
	Algorithm string // one of Algorithms; RS256 if empty
}

func (k *Key) setDefaults() error {
	if k.Algorithm == "" {
		k.Algorithm = Algorithms[0]
	}
	if !slices.Contains(Algorithms, k.Algorithm) {
		return fmt.Errorf("there is no signature algorithm %q; allowed are %s", k.Algorithm, strings.Join(Algorithms, ", "))
	}
	return nil
}

// parse reads the key for its algorithm. A PEM text is never a shared secret: whoever has a public key could else sign
// with it.
func (k *Key) parse(private bool) (any, error) {
	if err := k.setDefaults(); err != nil {
		return nil, err
	}
	block, _ := pem.Decode(k.Text)
	if strings.HasPrefix(k.Algorithm, "HS") {
		switch {
		case block != nil:
			return nil, fmt.Errorf(
				"the key is a %s in PEM, and %s takes a shared secret; name the algorithm that the key is for",
				block.Type, k.Algorithm)
		case len(k.Text) < leastSecret:
			return nil, fmt.Errorf("the shared secret has %d bytes; at least %d are needed", len(k.Text), leastSecret)
		}
		return k.Text, nil
	}
	if block == nil {
		return nil, fmt.Errorf("the key is no PEM, which %s takes", k.Algorithm)
	}
	key, err := parseBlock(block, private)
	if err != nil {
		return nil, err
	}
	fits := false
	switch key.(type) {
	case *rsa.PublicKey, *rsa.PrivateKey:
		fits = !strings.HasPrefix(k.Algorithm, "ES")
	case *ecdsa.PublicKey, *ecdsa.PrivateKey:
		fits = strings.HasPrefix(k.Algorithm, "ES")
	}
	if !fits {
		return nil, fmt.Errorf("the key, a %T, is not one for %s", key, k.Algorithm)
	}
	return key, nil
}

func parseBlock(block *pem.Block, private bool) (key any, err error) {
	switch kind := block.Type; {
	case private && kind == "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case private && kind == "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case private && kind == "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case !private && kind == "RSA PUBLIC KEY":
		key, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case !private && kind == "PUBLIC KEY":
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	case private:
		return nil, fmt.Errorf("the key is a %s; a private key signs", kind)
	default:
		return nil, fmt.Errorf("the key is a %s; a PUBLIC KEY verifies", kind)
	}
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	return key, nil
}
