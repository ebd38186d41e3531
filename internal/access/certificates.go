package access

import (
	"crypto/x509"
	"fmt"
	"path"
	"strings"
	"time"
)

// certificates are patterns of the subjects of client certificates, with who shows them.
type certificates []certificate

type certificate struct {
	pattern string
	grant   *Identity
	line    int
}

// find takes the first entry that matches any name of a verified certificate. The identity has the name that matched.
func (c certificates) find(shown *x509.Certificate, now time.Time) (*Identity, error) {
	names := subjects(shown)
	if now.After(shown.NotAfter) {
		// The handshake looked at that too, but a connection may be older than a day.
		return nil, unauthenticated("the client certificate of %s ran out at %s; connect anew with a new one", listed(names),
			shown.NotAfter.UTC().Format(time.RFC3339))
	}
	for i := range c {
		for _, name := range names {
			if matched, _ := path.Match(c[i].pattern, name); matched {
				identity := *c[i].grant
				identity.Name = "certificate:" + name
				return &identity, nil
			}
		}
	}
	return nil, unauthenticated("the client certificate is for %s, and no entry of certificates is; have it added to the access file",
		listed(names))
}

// maxSubject bounds a name that counts. Bytes.
const maxSubject = 512

// subjects are the names in a certificate, the most precise kind first. The common name counts only where there is no
// other: who signs looks at the others, and leaves the common name to whoever asks for a certificate. A name that could
// not stand in a log line as it is counts never.
func subjects(shown *x509.Certificate) (names []string) {
	add := func(name string) {
		if name != "" && len(name) <= maxSubject && printable(name) {
			names = append(names, name)
		}
	}
	for _, uri := range shown.URIs {
		add(uri.String())
	}
	for _, name := range shown.DNSNames {
		add(name)
	}
	if len(shown.URIs)+len(shown.DNSNames)+len(shown.IPAddresses)+len(shown.EmailAddresses) == 0 {
		add(shown.Subject.CommonName)
	}
	return names
}

func listed(names []string) string {
	if len(names) == 0 {
		return "nobody by a URI, a DNS name or a common name"
	}
	return strings.Join(names[:min(len(names), 4)], ", ")
}

func (m *mistakes) certificates(entries []certificateEntry, defaults Limits) (out certificates) {
	for i := range entries {
		e := &entries[i]
		if e.Broken {
			continue
		}
		who := fmt.Sprintf("certificate %.64q", e.Subject)
		if !isPattern(e.Subject) {
			m.add(e.Line, "%s: subject must be the URI, DNS name or common name of a certificate, with * for any characters but a slash", who)
		}
		for _, earlier := range out {
			if covers(earlier.pattern, e.Subject) {
				m.add(e.Line, "%s is never reached, since the entry in line %d matches the same and comes first; put this one before it",
					who, earlier.line)
				break
			}
		}
		m.noPlaceholders(who, &e.grant)
		out = append(out, certificate{e.Subject, m.identity(who, "certificate:"+e.Subject, &e.grant, defaults), e.Line})
	}
	return out
}
