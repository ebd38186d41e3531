package access

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
)

// leastToken is what a token needs so as not to be guessed. Bytes.
const leastToken = 16

// tokens are opaque bearer tokens by their hashes.
type tokens []hashed

type hashed struct {
	sum      [sha256.Size]byte
	identity *Identity
}

// find compares with every entry in the same time, so that how long it takes tells nothing of any token.
func (t tokens) find(token string) *Identity {
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range t {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], t[i].sum[:]), i, found)
	}
	if found < 0 {
		return nil
	}
	return t[found].identity
}

// tokens judges the entries. Files that hold tokens are read with read, which notes what they held.
func (m *mistakes) tokens(entries []tokenEntry, defaults Limits, read func(string) ([]byte, error)) (out tokens) {
	names := map[string]int{}
	for _, e := range entries {
		if first, taken := names[e.Name]; taken {
			m.add(e.line, "token %q: line %d names one so already; logs must tell them apart", e.Name, first)
		}
		names[e.Name] = e.line
		if e.Name == "" {
			m.add(e.line, "a token has no name; give it one, under which logs tell who asked")
		}
		sum, err := e.sum(read)
		if err != nil {
			m.add(e.line, "token %q: %s", e.Name, err)
			continue
		}
		if i := slices.IndexFunc(out, func(h hashed) bool { return h.sum == sum }); i >= 0 {
			m.add(e.line, "token %q: it is the token of %s too; who shows it could be either", e.Name, out[i].identity.Name)
		}
		out = append(out, hashed{sum, m.identity(e.line, "token:"+e.Name, &e.grant, defaults)})
	}
	return out
}

func (e *tokenEntry) sum(read func(string) ([]byte, error)) (sum [sha256.Size]byte, err error) {
	if (e.SHA256 == "") == (e.File == "") {
		return sum, fmt.Errorf("give either sha256, the hash of the token, or file, where the token is")
	}
	if e.File == "" {
		n, err := hex.Decode(sum[:], []byte(e.SHA256))
		if err != nil || n != len(sum) {
			return sum, fmt.Errorf("sha256 must be the 64 hexadecimal digits of the token's hash, as `sha256sum` prints them")
		}
		return sum, nil
	}
	text, err := read(e.File)
	if err != nil {
		return sum, fmt.Errorf("read token: %w", err)
	}
	token := bytes.TrimSpace(text)
	if len(token) < leastToken {
		return sum, fmt.Errorf("the token in %s has %d bytes; at least %d are needed, e.g. from `openssl rand -hex 32`",
			e.File, len(token), leastToken)
	}
	return sha256.Sum256(token), nil
}

// maxSecret bounds files with tokens and keys. Bytes.
const maxSecret = 1 << 20

func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxSecret {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", name, info.Size(), maxSecret)
	}
	return os.ReadFile(name)
}
