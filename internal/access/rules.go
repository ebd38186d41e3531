package access

import (
	"context"
	"crypto/sha256"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// rules are an access file that was read, immutable but for the keys of a cluster.
type rules struct {
	// digest is over the file and those that it names.
	digest       [32]byte
	tokens       tokens
	accounts     *accounts
	certificates certificates
	peers        peers
	// remembered are signed tokens that were verified, by their hashes, so that a worker that asks every half a minute costs no
	// signature each time.
	remembered *lru.Cache[[sha256.Size]byte, verified]
}

type verified struct {
	identity *Identity
	until    time.Time
}

// load reads an access file and what it names. Keys that were fetched from where the old rules have them are kept.
func load(name string, old *rules) (*rules, error) {
	text, err := readFile(name)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	sum.Write(text)
	read := func(name string) ([]byte, error) {
		content, err := readFile(name)
		part := sha256.Sum256(content)
		sum.Write(part[:])
		return content, err
	}
	m := &mistakes{name: name}
	r := &rules{}
	r.remembered, _ = lru.New[[sha256.Size]byte, verified](maxRemembered) // it only refuses sizes below 1
	if f := decode(m, text); f != nil {
		defaults := f.Limits.within(m, 1, Limits{})
		r.tokens = m.tokens(f.Tokens, defaults, read)
		r.accounts = m.accounts(f.ServiceAccounts, defaults, read)
		r.certificates = m.certificates(f.Certificates, defaults)
		r.peers = m.peers(f.UnixPeers, defaults)
		if len(m.list) == 0 && len(r.tokens)+len(r.certificates)+len(r.peers) == 0 && r.accounts == nil {
			m.add(1, "it names nobody, so that nobody could ask anything; name tokens, service_accounts, certificates or unix_peers")
		}
	}
	sum.Sum(r.digest[:0])
	if old != nil && old.accounts != nil && r.accounts != nil {
		if a, b := r.accounts.keys, old.accounts.keys; a.url != "" && a.url == b.url && a.ca == b.ca && a.token == b.token {
			r.accounts.keys = b
		}
	}
	if err := m.err(); err != nil {
		return nil, err
	}
	return r, nil
}

// verified tells who a signed token is of.
func (r *rules) verified(ctx context.Context, token string, h header, now time.Time) (*Identity, error) {
	sum := sha256.Sum256([]byte(token))
	if v, known := r.remembered.Get(sum); known && now.Before(v.until) {
		return v.identity, nil
	}
	keys, err := r.accounts.keys.forToken(ctx, h.KeyID)
	if err != nil {
		return nil, err
	}
	identity, expires, err := r.accounts.verify(keys, token, now)
	if err != nil {
		return nil, err
	}
	until := now.Add(rememberFor)
	if expires.Before(until) {
		until = expires
	}
	r.remembered.Add(sum, verified{identity, until})
	return identity, nil
}

// taken says what credentials are taken.
func (r *rules) taken() string {
	var kinds []string
	if len(r.tokens) > 0 {
		kinds = append(kinds, "a bearer token of the access file")
	}
	if r.accounts != nil {
		kinds = append(kinds, "a service account's token for the audience "+r.accounts.audience)
	}
	if len(r.certificates) > 0 {
		kinds = append(kinds, "a client certificate")
	}
	if len(r.peers) > 0 {
		kinds = append(kinds, "a unix socket")
	}
	return "taken are " + strings.Join(kinds, ", ")
}
