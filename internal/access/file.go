package access

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// origin is where a mapping begins, and whether it is broken: what it means is then not judged, which would only repeat that.
type origin struct {
	Line   int
	Broken bool
}

// file is an access file as it is written.
type file struct {
	Tokens          []tokenEntry       `yaml:"tokens"`
	ServiceAccounts *serviceAccounts   `yaml:"service_accounts"`
	Certificates    []certificateEntry `yaml:"certificates"`
	UnixPeers       []peerEntry        `yaml:"unix_peers"`
	Limits          limits             `yaml:"limits"`
}

// grant is what every entry gives.
type grant struct {
	origin
	Tenant  string   `yaml:"tenant"`
	Roles   []string `yaml:"roles"`
	Engines []string `yaml:"engines"`
	Limits  limits   `yaml:"limits"`
}

// tokenEntry is an opaque bearer token: its hash, or a file that has it, e.g. of a mounted Secret.
type tokenEntry struct {
	Name   string `yaml:"name"`
	SHA256 string `yaml:"sha256"`
	File   string `yaml:"file"`
	grant  `yaml:",inline"`
}

// serviceAccounts are tokens that a Kubernetes cluster signs for its pods.
type serviceAccounts struct {
	origin
	Issuer    string         `yaml:"issuer"`
	Audience  string         `yaml:"audience"`
	JWKS      string         `yaml:"jwks"`
	JWKSCA    string         `yaml:"jwks_ca"`
	JWKSToken string         `yaml:"jwks_token"`
	Accounts  []accountEntry `yaml:"accounts"`
}

type accountEntry struct {
	Namespace string `yaml:"namespace"`
	Name      string `yaml:"name"`
	grant     `yaml:",inline"`
}

type certificateEntry struct {
	Subject string `yaml:"subject"`
	grant   `yaml:",inline"`
}

type peerEntry struct {
	UID   *uint32 `yaml:"uid"`
	GID   *uint32 `yaml:"gid"`
	grant `yaml:",inline"`
}

// mistakes collects what is wrong with a file, each with its line.
type mistakes struct {
	name string
	list []mistake
}

type mistake struct {
	line int
	text string
}

func (m *mistakes) add(line int, format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	m.list = append(m.list, mistake{line, format})
}

// err has all mistakes, in the order of their lines.
func (m *mistakes) err() error {
	slices.SortStableFunc(m.list, func(a, b mistake) int { return cmp.Compare(a.line, b.line) })
	var all []error
	for _, one := range m.list {
		all = append(all, fmt.Errorf("%s:%d: %s", m.name, one.line, one.text))
	}
	return errors.Join(all...)
}

var roles = []string{string(Launcher), string(Worker), string(Reader), string(Admin)}

// identity makes the identity of an entry, or says what is wrong with it. Who is the entry in messages.
func (m *mistakes) identity(who, name string, g *grant, defaults Limits) *Identity {
	i := &Identity{Name: name, Tenant: g.Tenant, Engines: g.Engines, Limits: g.Limits.within(m, g.Line, defaults)}
	if len(g.Roles) == 0 {
		m.add(g.Line, "%s has no roles, so that it may do nothing; give some of %s", who, strings.Join(roles, ", "))
	}
	for _, role := range g.Roles {
		if !slices.Contains(roles, role) {
			m.add(g.Line, "%s: there is no role %.32q; %s", who, role, suggest(role, roles))
		}
		if i.Has(Role(role)) {
			m.add(g.Line, "%s has a role twice; keep one", who)
		}
		i.Roles = append(i.Roles, Role(role))
	}
	if len(g.Tenant) > maxName || !printable(g.Tenant) {
		m.add(g.Line, "%s: tenant must have at most %d printable characters of ASCII and no spaces", who, maxName)
	}
	m.engines(who, i, g)
	return i
}

func (m *mistakes) engines(who string, i *Identity, g *grant) {
	// Policies are for all engines: who changes them is not bound to some, whatever the file says.
	if i.Has(Admin) && g.Engines != nil {
		m.add(g.Line, "%s: an admin changes policies, which are for all engines, and cannot be bound to some; leave engines out, "+
			"or make two entries", who)
	}
	if g.Engines != nil && len(g.Engines) == 0 {
		m.add(g.Line, "%s: engines is empty; leave it out for all engines of the tenant, or name some", who)
	}
	for _, pattern := range g.Engines {
		if !isPattern(pattern) {
			m.add(g.Line, "%s: engines has %.64q, which is no pattern; write names with * for any characters but a slash", who, pattern)
		}
	}
}

// noPlaceholders refuses what only the claims of a service account fill in.
func (m *mistakes) noPlaceholders(who string, g *grant) {
	for _, text := range append([]string{g.Tenant}, g.Engines...) {
		if strings.ContainsAny(text, "{}") {
			m.add(g.Line, "%s: what stands in braces is filled in for service accounts only; write the name itself", who)
		}
	}
}

// maxName bounds the names of tokens and tenants. Bytes.
const maxName = 128

// printable tells whether a text can stand in a log line as it is.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

func isPattern(text string) bool {
	_, err := path.Match(text, "")
	return err == nil && text != "" && printable(text)
}

// covers tells whether a pattern surely matches all that another one matches, which is then never asked.
func covers(wide, narrow string) bool {
	if wide != narrow && strings.ContainsAny(wide+narrow, `?[\`) {
		return false
	}
	matched, _ := path.Match(wide, narrow)
	return matched || wide == narrow
}
