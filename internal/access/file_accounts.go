package access

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

func (m *mistakes) accounts(s *serviceAccounts, defaults Limits, files *sources) *accounts {
	if s == nil {
		return nil
	}
	for _, given := range []struct{ key, value, example string }{
		{"issuer", s.Issuer, "it is the cluster's --service-account-issuer, e.g. https://kubernetes.default.svc"},
		{"audience", s.Audience, "it is what pods project tokens for, e.g. tiergate"},
		{"jwks", s.JWKS, "it is a file with the cluster's keys or their URL, e.g. https://kubernetes.default.svc/openid/v1/jwks"},
	} {
		if given.value == "" {
			m.add(s.Line, "service_accounts: %s is missing; %s", given.key, given.example)
		}
	}
	if len(s.Accounts) == 0 {
		m.add(s.Line, "service_accounts: accounts is missing, so that no token would be taken; name some, or leave service_accounts out")
	}
	remembered, _ := lru.New[[sha256.Size]byte, verified](maxVerified) // it only refuses sizes below 1
	a := &accounts{issuer: s.Issuer, audience: s.Audience, keys: m.keys(s, files), verified: remembered}
	for i := range s.Accounts {
		if !s.Accounts[i].Broken {
			m.account(a, &s.Accounts[i], defaults)
		}
	}
	return a
}

func (m *mistakes) account(a *accounts, e *accountEntry, defaults Limits) {
	who := fmt.Sprintf("account %.64s/%.64s", e.Namespace, e.Name)
	if !isPattern(e.Namespace) || !isPattern(e.Name) {
		m.add(e.Line, "%s: namespace and name must be names or patterns, e.g. inference and vllm-*", who)
	}
	if e.Tenant == "" && strings.ContainsAny(e.Namespace, `*?[`) {
		m.add(e.Line, "%s: accounts of several namespaces need a tenant; write \"{namespace}\" for one each, or the name of one for all", who)
	}
	if e.Tenant != "{namespace}" && strings.ContainsAny(e.Tenant, "{}") {
		m.add(e.Line, "%s: tenant must be a name, or \"{namespace}\" as a whole", who)
	}
	for _, pattern := range e.Engines {
		if rest := placeholders.ReplaceAllString(pattern, ""); strings.ContainsAny(rest, "{}") {
			m.add(e.Line, "%s: engines can have {namespace}, {name} and {pod}, and no other braces", who)
		}
	}
	for _, earlier := range a.entries {
		if covers(earlier.namespace, e.Namespace) && covers(earlier.name, e.Name) {
			m.add(e.Line, "%s is never reached, since the entry in line %d matches the same and comes first; put this one before it",
				who, earlier.line)
			break
		}
	}
	a.entries = append(a.entries, account{e.Namespace, e.Name, m.identity(who, "", &e.grant, defaults), e.Line})
}

var placeholders = regexp.MustCompile(`\{(namespace|name|pod)\}`)

// keys judges where the keys of a cluster come from. A file is read at once, a URL when its keys are needed.
func (m *mistakes) keys(s *serviceAccounts, files *sources) *keys {
	k := &keys{now: time.Now, fetchTime: fetchTime}
	if !strings.Contains(s.JWKS, "://") {
		m.keyFile(k, s, files)
		return k
	}
	u, err := url.Parse(s.JWKS)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https":
		m.add(s.Line, "service_accounts: jwks is no https URL; over anything else somebody on the way could put in keys of his own")
	case u.User != nil:
		m.add(s.Line, "service_accounts: jwks has a user name or a password in its URL, which would be logged; use jwks_token")
	}
	k.url = s.JWKS
	for _, given := range []struct {
		key, value string
		into       *string
	}{{"jwks_ca", s.JWKSCA, &k.ca}, {"jwks_token", s.JWKSToken, &k.token}} {
		if given.value == "" {
			continue
		}
		*given.into = files.path(given.value)
		if err := files.check(given.value); err != nil {
			m.add(s.Line, "service_accounts: read %s: %s", given.key, err)
		}
	}
	return k
}

func (m *mistakes) keyFile(k *keys, s *serviceAccounts, files *sources) {
	if s.JWKSCA != "" || s.JWKSToken != "" {
		m.add(s.Line, "service_accounts: jwks_ca and jwks_token are for a URL, and jwks is a file; leave them out")
	}
	if s.JWKS == "" {
		return
	}
	text, err := files.read(s.JWKS)
	if err == nil {
		err = k.take(text)
	}
	if err != nil {
		m.add(s.Line, "service_accounts: read jwks: %s", err)
	}
}
