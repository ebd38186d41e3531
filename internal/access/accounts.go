package access

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lestrrat-go/jwx/v3/jws"
)

const (
	// maxToken is the longest bearer token that is looked at. Those of service accounts have 1 to 2 KiB. Bytes.
	maxToken = 8 << 10
	// skew is how far the clocks of the cluster and of this machine may differ.
	skew = 30 * time.Second
	// maxRemembered bounds how many verified tokens are remembered, and rememberFor how long: a token that the cluster no
	// longer signs with must end sometime, and workers ask every half a minute.
	maxRemembered = 4096
	rememberFor   = 5 * time.Minute
)

// algorithms are those of public keys. Neither none nor a shared secret is one of them, whatever a token's header says.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// accounts are the service accounts of a cluster that may ask.
type accounts struct {
	issuer, audience string
	keys             *keys
	entries          []account
}

type account struct {
	namespace, name string
	grant           *Identity
}

func (m *mistakes) accounts(s *serviceAccounts, defaults Limits, read func(string) ([]byte, error)) *accounts {
	if s == nil {
		return nil
	}
	for _, given := range []struct{ key, value, example string }{
		{"issuer", s.Issuer, "the cluster's --service-account-issuer, e.g. https://kubernetes.default.svc"},
		{"audience", s.Audience, "what the pods' projected tokens are for, e.g. tiergate"},
		{"jwks", s.JWKS, "a file, or e.g. https://kubernetes.default.svc/openid/v1/jwks"},
	} {
		if given.value == "" {
			m.add(s.line, "service_accounts: %s is missing; write %s", given.key, given.example)
		}
	}
	out := &accounts{issuer: s.Issuer, audience: s.Audience, keys: m.keySet(s, read)}
	for _, e := range s.Accounts {
		for _, pattern := range []string{e.Namespace, e.Name} {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
				m.add(e.line, "an account needs patterns of a namespace and of a name, such as inference and vllm-*; %q is none", pattern)
			}
		}
		out.entries = append(out.entries, account{
			e.Namespace, e.Name, m.identity(e.line, "serviceaccount:"+e.Namespace+"/"+e.Name, &e.grant, defaults),
		})
	}
	if len(s.Accounts) == 0 {
		m.add(s.line, "service_accounts: accounts is empty, so that no token would be taken; name some, or leave service_accounts out")
	}
	return out
}

// claims are what a Kubernetes token says of itself.
type claims struct {
	Issuer     string          `json:"iss"`
	Subject    string          `json:"sub"`
	Audience   json.RawMessage `json:"aud"`
	Expires    float64         `json:"exp"`
	NotBefore  float64         `json:"nbf"`
	Kubernetes struct {
		Namespace string `json:"namespace"`
		Pod       struct {
			Name string `json:"name"`
		} `json:"pod"`
	} `json:"kubernetes.io"`
}

// verify tells the identity of a signed token, and until when it holds.
func (a *accounts) verify(keys *keySet, token string, now time.Time) (*Identity, time.Time, error) {
	payload, err := jws.Verify([]byte(token), jws.WithKeySet(keys.set, jws.WithInferAlgorithmFromKey(true)))
	if err != nil {
		return nil, time.Time{}, unauthenticated("the bearer token is signed by no key of the cluster's key set; see that the pod's token is of "+
			"this cluster, %s", a.issuer)
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, time.Time{}, unauthenticated("the bearer token's claims cannot be read")
	}
	namespace, name, isAccount := serviceAccount(c.Subject)
	who := fmt.Sprintf("the token of %.200s", c.Subject)
	expires := time.Unix(int64(c.Expires), 0)
	switch {
	case !isAccount:
		return nil, expires, unauthenticated("%s is not that of a service account", who)
	case c.Issuer != a.issuer:
		return nil, expires, unauthenticated("%s was issued by %.200q; allowed is %q", who, c.Issuer, a.issuer)
	case !slices.Contains(audiences(c.Audience), a.audience):
		return nil, expires, unauthenticated("%s is for the audience %.200s; allowed is %q: project a token with that audience into the pod", who,
			c.Audience, a.audience)
	case c.Expires == 0:
		return nil, expires, unauthenticated("%s never expires; only projected tokens are taken, which do", who)
	case now.After(expires.Add(skew)):
		return nil, expires, unauthenticated("%s expired at %s; read the token's file anew for each request", who, expires.UTC().Format(time.RFC3339))
	case c.NotBefore > 0 && now.Before(time.Unix(int64(c.NotBefore), 0).Add(-skew)):
		return nil, expires, unauthenticated("%s is not valid before %s; compare the clocks", who,
			time.Unix(int64(c.NotBefore), 0).UTC().Format(time.RFC3339))
	}
	identity, err := a.identity(namespace, name, c.Kubernetes.Pod.Name)
	return identity, expires, err
}

// identity is that of the first entry that matches.
func (a *accounts) identity(namespace, name, pod string) (*Identity, error) {
	for _, entry := range a.entries {
		inNamespace, _ := path.Match(entry.namespace, namespace)
		named, _ := path.Match(entry.name, name)
		if !inNamespace || !named {
			continue
		}
		out := *entry.grant
		out.Name = "serviceaccount:" + namespace + "/" + name
		fill := strings.NewReplacer("{namespace}", namespace, "{name}", name, "{pod}", pod)
		out.Tenant = fill.Replace(out.Tenant)
		out.Engines = slices.Clone(out.Engines)
		for i, pattern := range out.Engines {
			if strings.Contains(pattern, "{pod}") && pod == "" {
				return nil, unauthenticated("the token of %s is bound to no pod, and its engines depend on one; use a projected token", out.Name)
			}
			out.Engines[i] = fill.Replace(pattern)
		}
		return &out, nil
	}
	return nil, unauthenticated("no entry of the access file is for the service account %s/%s", namespace, name)
}

// serviceAccount takes a subject apart. Names of Kubernetes have no characters that mean something in a pattern.
func serviceAccount(subject string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(subject, "system:serviceaccount:")
	namespace, name, two := strings.Cut(rest, ":")
	plain := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.'
		})
	}
	return namespace, name, ok && two && plain(namespace) && plain(name)
}

func audiences(raw json.RawMessage) (list []string) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	_ = json.Unmarshal(raw, &list) // what is neither is nobody's audience
	return list
}

// header is what a signed token says of its signature.
type header struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
}

// signedHeader reads the header of a token in the compact form; false if it is no such token.
func signedHeader(token string) (h header, ok bool) {
	first, rest, dotted := strings.Cut(token, ".")
	if !dotted || strings.Count(rest, ".") != 1 {
		return h, false
	}
	text, err := base64.RawURLEncoding.DecodeString(first)
	return h, err == nil && json.Unmarshal(text, &h) == nil && h.Algorithm != ""
}
