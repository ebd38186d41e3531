package access

import (
	"crypto/x509"
	"fmt"
	"path"
	"strings"
)

// certificates are patterns of the subjects of client certificates, with who shows them.
type certificates []certificate

type certificate struct {
	pattern string
	grant   *Identity
}

// find takes the first entry that matches any name of a verified certificate. The identity has the name that matched.
func (c certificates) find(cert *x509.Certificate) (*Identity, error) {
	names := subjects(cert)
	for _, entry := range c {
		for _, name := range names {
			if matched, _ := path.Match(entry.pattern, name); matched {
				identity := *entry.grant
				identity.Name = "certificate:" + name
				return &identity, nil
			}
		}
	}
	return nil, unauthenticated("the client certificate is for %s, which no entry of the access file names", strings.Join(names, ", "))
}

// subjects are the names in a certificate, the most precise kind first.
func subjects(cert *x509.Certificate) (names []string) {
	for _, uri := range cert.URIs {
		names = append(names, uri.String())
	}
	names = append(names, cert.DNSNames...)
	if cert.Subject.CommonName != "" {
		names = append(names, cert.Subject.CommonName)
	}
	return names
}

func (m *mistakes) certificates(entries []certificateEntry, defaults Limits) (out certificates) {
	for _, e := range entries {
		if _, err := path.Match(e.Subject, ""); err != nil || e.Subject == "" {
			m.add(e.line, "%q is no pattern of subjects; write a URI, a DNS name or a common name, with * for a part without slashes",
				e.Subject)
		}
		out = append(out, certificate{e.Subject, m.identity(e.line, fmt.Sprintf("certificate:%s", e.Subject), &e.grant, defaults)})
	}
	return out
}
