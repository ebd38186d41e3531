package access

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
)

// rules are an access file that was read, immutable but for the keys of a cluster.
type rules struct {
	// digest is over the file and those that it names.
	digest       [sha256.Size]byte
	tokens       tokens
	accounts     *accounts
	certificates certificates
	peers        peers
}

// load reads an access file and what it names. The digest is that of what was read, also where it is wrong.
func load(name string, log *slog.Logger) (*rules, [sha256.Size]byte, error) {
	files := newSources(name)
	text, err := readFile(name)
	files.note(err == nil, text)
	if err != nil {
		return nil, files.digest(), fmt.Errorf("read access file: %w", err)
	}
	m, r := &mistakes{name: name}, &rules{}
	if f := decode(m, text); f != nil {
		defaults := f.Limits.within(m, f.Limits.Line, Limits{})
		r.tokens = m.tokens(f.Tokens, defaults, files)
		r.accounts = m.accounts(f.ServiceAccounts, defaults, files)
		if r.accounts != nil {
			r.accounts.keys.log = log
		}
		r.certificates = m.certificates(f.Certificates, defaults)
		r.peers = m.peers(f.UnixPeers, defaults)
		if len(m.list) == 0 && r.kinds() == nil {
			m.add(1, "nobody is named, so that nobody could ask anything; add tokens, service_accounts, certificates or unix_peers")
		}
	}
	r.digest = files.digest()
	if err := m.err(); err != nil {
		return nil, r.digest, err
	}
	return r, r.digest, nil
}

// kinds are the credentials that are taken, as a client may read them.
func (r *rules) kinds() (kinds []string) {
	if len(r.tokens) > 0 {
		kinds = append(kinds, "a bearer token that the access file names")
	}
	if r.accounts != nil {
		kinds = append(kinds, fmt.Sprintf("a service account's bearer token for the audience %q", r.accounts.audience))
	}
	if len(r.certificates) > 0 {
		kinds = append(kinds, "a client certificate")
	}
	if len(r.peers) > 0 {
		kinds = append(kinds, "a unix socket")
	}
	return kinds
}

func (r *rules) taken() string { return "taken are: " + strings.Join(r.kinds(), "; ") }
