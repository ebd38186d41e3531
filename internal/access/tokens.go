package access

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// leastToken is what a token needs so as not to be guessed, as far as that can be told: of a hash it cannot. Bytes.
const leastToken = 16

// tokens are opaque bearer tokens by their hashes. The tokens themselves are kept nowhere.
type tokens []hashed

// hashed has its hash behind a pointer, so that printing it, or what it is in, does not show it.
type hashed struct {
	sum      *[sha256.Size]byte
	identity *Identity
	line     int
}

// find compares with every entry in the same time, so that how long it takes tells nothing of any token.
func (t tokens) find(sum *[sha256.Size]byte) *Identity {
	found := -1
	for i := range t {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], t[i].sum[:]), i, found)
	}
	if found < 0 {
		return nil
	}
	return t[found].identity
}

func (m *mistakes) tokens(entries []tokenEntry, defaults Limits, files *sources) (out tokens) {
	names := map[string]int{}
	for i := range entries {
		e := &entries[i]
		if e.Broken {
			continue
		}
		who := fmt.Sprintf("token %.64q", e.Name)
		if first, taken := names[e.Name]; taken {
			m.add(e.Line, "%s: the entry in line %d has that name already, and logs must tell them apart", who, first)
		} else if !isName(e.Name) {
			m.add(e.Line, "%s: name must have 1 to %d letters, digits, dots, dashes and underscores; logs tell by it who asked", who, maxName)
		}
		names[e.Name] = e.Line
		identity := m.identity(who, "token:"+e.Name, &e.grant, defaults)
		m.noPlaceholders(who, &e.grant)
		sum, err := e.sum(files)
		if err != nil {
			m.add(e.Line, "%s: %s", who, err)
			continue
		}
		if same := slices.IndexFunc(out, func(h hashed) bool { return *h.sum == sum }); same >= 0 {
			m.add(e.Line, "%s: the entry in line %d has the same token, and who shows it could be either; make one for each",
				who, out[same].line)
		}
		out = append(out, hashed{&sum, identity, e.Line})
	}
	return out
}

func isName(name string) bool {
	return name != "" && len(name) <= maxName && !bytes.ContainsFunc([]byte(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
	})
}

var (
	errHashOrFile = errors.New("give one of sha256, the hash of the token, and file, where the token is")
	errHash       = errors.New("sha256 is not 64 hexadecimal digits; print them with `printf %s TOKEN | sha256sum`")
	errHashEmpty  = errors.New("sha256 is that of no token at all; hash the token itself, without a line break")
	errCharacters = errors.New("the token in its file has characters that no header can have; use letters, digits and -._~+/=")
)

func (e *tokenEntry) sum(files *sources) (sum [sha256.Size]byte, err error) {
	if (e.SHA256 == "") == (e.File == "") {
		return sum, errHashOrFile
	}
	if e.File != "" {
		return fileSum(e.File, files)
	}
	if len(e.SHA256) != hex.EncodedLen(len(sum)) {
		return sum, errHash
	}
	if _, err := hex.Decode(sum[:], []byte(e.SHA256)); err != nil {
		return sum, errHash
	}
	if sum == sha256.Sum256(nil) || sum == sha256.Sum256([]byte("\n")) {
		return sum, errHashEmpty
	}
	return sum, nil
}

func fileSum(name string, files *sources) (sum [sha256.Size]byte, err error) {
	text, err := files.read(name)
	if err != nil {
		return sum, fmt.Errorf("read its token: %w", err)
	}
	token := bytes.TrimSpace(text)
	switch {
	case len(token) < leastToken:
		return sum, fmt.Errorf("the token in its file has %d bytes; at least %d are needed, e.g. from `openssl rand -hex 32`",
			len(token), leastToken)
	case len(token) > maxToken:
		return sum, fmt.Errorf("the token in its file has %d bytes; at most %d are looked at", len(token), maxToken)
	case !printable(string(token)):
		return sum, errCharacters
	}
	return sha256.Sum256(token), nil
}
