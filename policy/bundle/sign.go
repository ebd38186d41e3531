package bundle

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/open-policy-agent/opa/v1/bundle"
)

// Signing is how a bundle is signed.
type Signing struct {
	Key Key
	// Scope is what the verifier must ask for.
	Scope string
	// Claims go into the signature beside the files, e.g. keyid; Scope wins over a scope among them.
	Claims map[string]any
}

// Sign puts a signature over all files into the bundle, in place of one that is there, and returns the text of
// .signatures.json.
func (b *Bundle) Sign(s Signing) ([]byte, error) {
	key, err := s.Key.parse(true)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	claims := maps.Clone(s.Claims)
	if claims == nil {
		claims = map[string]any{}
	}
	if s.Scope != "" {
		claims["scope"] = s.Scope
	}
	if claims["files"], err = b.hashes(); err != nil {
		return nil, err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return nil, fmt.Errorf("write claims: %w", err)
	}
	alg, _ := jwa.LookupSignatureAlgorithm(s.Key.Algorithm)
	token, err := jws.Sign(payload, jws.WithKey(alg, key))
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	text, err := json.MarshalIndent(map[string]any{"signatures": []string{string(token)}}, "", " ")
	if err != nil {
		return nil, err
	}
	b.files[signaturesFile] = text
	return text, nil
}

func (b *Bundle) hashes() ([]bundle.FileInfo, error) {
	var list []bundle.FileInfo
	for _, name := range sorted(b.files) {
		if name == signaturesFile {
			continue
		}
		sum, err := b.hash(name, bundle.SHA256)
		if err != nil {
			return nil, err
		}
		list = append(list, bundle.NewFile(name, hex.EncodeToString(sum), string(bundle.SHA256)))
	}
	return list, nil
}

// hash is OPA's: of documents their content counts, not how it is written.
func (b *Bundle) hash(name string, alg bundle.HashingAlgorithm) ([]byte, error) {
	var content any = b.files[name]
	if bundle.IsStructuredDoc(name) {
		doc, err := decode(b.files[name])
		if err != nil {
			return nil, b.refuse(name, "read data: %s", err)
		}
		content = doc
	}
	hasher, err := bundle.NewSignatureHasher(alg)
	if err != nil {
		return nil, err
	}
	return hasher.HashFile(content)
}
