package cli

import (
	"os"

	"github.com/tiergate/tiergate/internal/config"
	"github.com/tiergate/tiergate/policy/bundle"
)

// verificationFlags say which signature policies must have; without a key, none.
type verificationFlags struct {
	VerificationKey   string `placeholder:"FILE" help:"Take rules only if they are signed with the key in this file."`
	VerificationAlg   string `placeholder:"ALG" help:"Expect this signature algorithm. Default RS256."`
	VerificationKeyID string `name:"verification-key-id" placeholder:"ID" help:"Expect this key id in signatures."`
	VerificationScope string `name:"verification-scope" aliases:"scope" placeholder:"SCOPE" help:"Expect this scope in signatures."`
}

func signedBy(s *config.Serve) verificationFlags {
	return verificationFlags{s.VerificationKey, s.VerificationAlg, s.VerificationKeyID, s.VerificationScope}
}

// verification is nil where no signature is asked for. Settings without a key are refused, since they look like verification.
func (f *verificationFlags) verification() (*bundle.Verification, error) {
	if f.VerificationKey == "" {
		if f.VerificationKeyID != "" || f.VerificationScope != "" {
			return nil, usagef("verification needs a key: give --verification-key, or leave the key id and the scope out")
		}
		return nil, nil
	}
	text, err := os.ReadFile(f.VerificationKey)
	if err != nil {
		return nil, usagef("read verification key: %s", err)
	}
	return &bundle.Verification{
		Key: bundle.Key{Text: text, Algorithm: f.VerificationAlg}, KeyID: f.VerificationKeyID, Scope: f.VerificationScope,
	}, nil
}

// readBundle reads a bundle from a file or a directory.
func readBundle(path string) (*bundle.Bundle, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usagef("read bundle: %s", err)
	}
	if info.IsDir() {
		return bundle.ReadDir(path, os.DirFS(path), bundle.Limits{})
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("read bundle: %s", err)
	}
	defer f.Close()
	return bundle.Read(path, f, bundle.Limits{})
}
