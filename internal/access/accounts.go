package access

import (
	"context"
	"crypto/sha256"
	"path"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/lestrrat-go/jwx/v3/jws"
)

// maxVerified bounds how many verified tokens are remembered. One costs about half a KiB.
const maxVerified = 8192

// accounts are the service accounts of a cluster that may ask.
type accounts struct {
	issuer, audience string
	keys             *keys
	entries          []account
	// verified are tokens by their hashes, so that a worker that asks every half a minute costs no signature each time. Only
	// tokens that the cluster signed get in.
	verified *lru.Cache[[sha256.Size]byte, verified]
}

type account struct {
	namespace, name string
	grant           *Identity
	line            int
}

// verified is a token that held under some keys until some time, in seconds of Unix time.
type verified struct {
	identity *Identity
	keys     *keySet
	until    float64
}

// holder tells whose token it is.
func (a *accounts) holder(ctx context.Context, token string, sum [sha256.Size]byte, now time.Time) (*Identity, error) {
	if v, known := a.verified.Get(sum); known && v.keys == a.keys.current() && float64(now.UnixMilli())/1000 < v.until {
		return v.identity, nil
	}
	h, c, err := unverified(token)
	switch {
	case err != nil:
		return nil, err
	case !slices.Contains(algorithms, h.Algorithm):
		return nil, unauthenticated("the bearer token says that it is signed with %.32q; allowed are %s", h.Algorithm,
			strings.Join(algorithms, ", "))
	case h.Critical != nil:
		return nil, unauthenticated("the bearer token has extensions that must be understood (crit), and none is known here")
	case c.Issuer != a.issuer:
		// This comes before the signature, so that the tokens of other clusters do not have keys fetched.
		return nil, unauthenticated("the bearer token says that %.256q issued it; it must be of %q", c.Issuer, a.issuer)
	}
	set, err := a.keys.having(ctx, h.KeyID)
	if err != nil {
		return nil, err
	}
	return a.verify(token, sum, h, &c, set, now)
}

// verify judges a token that has been read by its signature, and then by its claims, which are believed from there on.
func (a *accounts) verify(token string, sum [sha256.Size]byte, h header, c *claims, set *keySet, now time.Time) (*Identity, error) {
	key, known := set.byID[h.KeyID]
	switch {
	case !known:
		return nil, unauthenticated("the bearer token says that it is signed with the key %.64q, which is none of the keys of %q; "+
			"see that the pod is of that cluster", h.KeyID, a.issuer)
	case !slices.Contains(key.algorithms, h.Algorithm):
		return nil, unauthenticated("the bearer token says that it is signed with %.32q; the key %.64q is for %s", h.Algorithm, h.KeyID,
			strings.Join(key.algorithms, ", "))
	}
	if _, err := jws.VerifyCompactFast(key.public, []byte(token), algorithm(h.Algorithm)); err != nil {
		return nil, unauthenticated("the signature of the bearer token is not that of the key %.64q", h.KeyID)
	}
	if err := c.settle(); err != nil {
		return nil, err
	}
	if err := c.check(a.audience, now); err != nil {
		return nil, err
	}
	identity, err := a.identity(c)
	if err != nil {
		return nil, err
	}
	a.verified.Add(sum, verified{identity, set, c.expires()})
	return identity, nil
}

// identity is that of the first entry that matches.
func (a *accounts) identity(c *claims) (*Identity, error) {
	for _, entry := range a.entries {
		inNamespace, _ := path.Match(entry.namespace, c.namespace)
		named, _ := path.Match(entry.name, c.name)
		if !inNamespace || !named {
			continue
		}
		identity, pod := *entry.grant, c.Kubernetes.Pod.Name
		identity.Name = "serviceaccount:" + c.namespace + "/" + c.name
		if identity.Tenant == "{namespace}" {
			identity.Tenant = c.namespace
		}
		fill := strings.NewReplacer("{namespace}", c.namespace, "{name}", c.name, "{pod}", pod)
		identity.Engines = slices.Clone(identity.Engines)
		for i, pattern := range identity.Engines {
			if pod == "" && strings.Contains(pattern, "{pod}") {
				return nil, unauthenticated("%s is bound to no pod, and its engines are named by one; use a projected token", c.who())
			}
			identity.Engines[i] = fill.Replace(pattern)
		}
		return &identity, nil
	}
	return nil, unauthenticated("%s is good, and no entry of accounts is for it; have it added to the access file", c.who())
}
