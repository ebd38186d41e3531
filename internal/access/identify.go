package access

import (
	"crypto/sha256"
	"net/http"
	"strings"
)

// maxToken is the longest bearer token that is looked at. Those of service accounts have 1 to 2 KiB. Bytes.
const maxToken = 8 << 10

// Identify tells who asks. A request with an Authorization header is judged by it alone, so that a wrong token is noticed; else
// a verified client certificate counts, else the peer of a unix socket. The identity is shared and must not be changed.
// Errors are *Error. It does no more I/O than one bounded fetch of a cluster's keys, and that rarely.
func (g *Guard) Identify(r *http.Request) (*Identity, error) {
	rules := g.rules.Load()
	if shown, any := r.Header["Authorization"]; any {
		token, err := bearer(shown)
		if err != nil {
			return nil, err
		}
		return g.holder(r, rules, token)
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && len(rules.certificates) > 0 {
		return rules.certificates.find(r.TLS.VerifiedChains[0][0], g.now())
	}
	if peer, known := r.Context().Value(peerKey{}).(*credentials); known && len(rules.peers) > 0 {
		return rules.peers.find(peer)
	}
	return nil, unauthenticated("the request shows no credentials; %s", rules.taken())
}

// bearer takes the token out of the Authorization headers. Nothing of them is quoted: a token may stand anywhere in there.
func bearer(shown []string) (string, error) {
	if len(shown) != 1 {
		return "", unauthenticated("the request has %d Authorization headers; send one", len(shown))
	}
	scheme, token, _ := strings.Cut(shown[0], " ")
	token = strings.Trim(token, " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer") || token == "":
		return "", unauthenticated("the Authorization header holds no bearer token; write Authorization: Bearer TOKEN")
	case len(token) > maxToken:
		return "", unauthenticated("the bearer token has %d bytes; at most %d are looked at", len(token), maxToken)
	}
	return token, nil
}

// holder tells whose token it is: one of the access file, or one that a cluster signed.
func (g *Guard) holder(r *http.Request, rules *rules, token string) (*Identity, error) {
	sum := sha256.Sum256([]byte(token))
	if identity := rules.tokens.find(&sum); identity != nil {
		return identity, nil
	}
	signed := strings.Count(token, ".") == 2
	switch {
	case signed && rules.accounts != nil:
		return rules.accounts.holder(r.Context(), token, sum, g.now())
	case signed:
		return nil, unauthenticated("no entry has this bearer token; it looks like a signed one, and the access file has no service_accounts; %s",
			rules.taken())
	default:
		return nil, unauthenticated("no entry has this bearer token; %s", rules.taken())
	}
}
