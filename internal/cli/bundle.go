package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tiergate/tiergate/policy/bundle"
)

type bundleCmd struct {
	Sign   bundleSignCmd   `cmd:"" help:"Sign all files of a bundle, in OPA's form."`
	Verify bundleVerifyCmd `cmd:"" help:"Verify that a bundle is signed, whole and unchanged."`
}

type bundleSignCmd struct {
	SigningKey string `required:"" placeholder:"FILE" help:"Sign with the private key, or the secret, in this file."`
	SigningAlg string `placeholder:"ALG" help:"Sign by this algorithm, e.g. ES256 or HS256. Default RS256."`
	Scope      string `placeholder:"SCOPE" help:"Put this scope into the signature."`
	ClaimsFile string `placeholder:"FILE" help:"Put the claims of this JSON file into the signature, e.g. keyid."`
	Path       string `arg:"" name:"bundle" help:"A bundle, which is written anew, or a directory, into which .signatures.json is written."`
}

// Run writes next to what it replaces first, so that a full disk leaves the old bundle.
func (c *bundleSignCmd) Run(_ context.Context, a *app) error {
	signing := bundle.Signing{Key: bundle.Key{Algorithm: c.SigningAlg}, Scope: c.Scope}
	var err error
	if signing.Key.Text, err = os.ReadFile(c.SigningKey); err != nil {
		return usagef("read signing key: %s", err)
	}
	if c.ClaimsFile != "" {
		text, err := os.ReadFile(c.ClaimsFile)
		if err != nil {
			return usagef("read claims: %s", err)
		}
		if err := json.Unmarshal(text, &signing.Claims); err != nil {
			return usagef("read claims: %s: %s", c.ClaimsFile, err)
		}
	}
	b, err := readBundle(c.Path)
	if err != nil {
		return err
	}
	text, err := b.Sign(signing)
	if err != nil {
		return usagef("%s", err)
	}
	target := c.Path
	if info, err := os.Stat(c.Path); err == nil && info.IsDir() {
		target = filepath.Join(c.Path, ".signatures.json")
	} else {
		var packed bytes.Buffer
		if err := b.Write(&packed); err != nil {
			return err
		}
		text = packed.Bytes()
	}
	if err := replaceFile(target, text); err != nil {
		return usagef("write signature: %s", err)
	}
	_, err = fmt.Fprintf(a.stdout, "%s: signed\n", target)
	return err
}

func replaceFile(target string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(target), ".tiergate-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // gone after the rename
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), target)
}

type bundleVerifyCmd struct {
	verificationFlags `embed:""`

	Path string `arg:"" name:"bundle" help:"A bundle or a directory."`
}

func (c *bundleVerifyCmd) Run(_ context.Context, a *app) error {
	verification, err := c.verification()
	if err != nil {
		return err
	}
	if verification == nil {
		return usagef("missing flags: --verification-key=FILE")
	}
	b, err := readBundle(c.Path)
	if err != nil {
		return err
	}
	if err := b.Verify(*verification); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s: signature verified\n", c.Path)
	return err
}
