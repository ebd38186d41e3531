package access

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"
)

// file is an access file.
type file struct {
	Tokens          []tokenEntry       `yaml:"tokens"`
	ServiceAccounts *serviceAccounts   `yaml:"service_accounts"`
	Certificates    []certificateEntry `yaml:"certificates"`
	UnixPeers       []peerEntry        `yaml:"unix_peers"`
	Limits          limits             `yaml:"limits"`
}

// grant is what every entry gives.
type grant struct {
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
	line   int
}

// serviceAccounts are tokens that a Kubernetes cluster signs for its pods.
type serviceAccounts struct {
	Issuer    string         `yaml:"issuer"`
	Audience  string         `yaml:"audience"`
	JWKS      string         `yaml:"jwks"`
	JWKSCA    string         `yaml:"jwks_ca"`
	JWKSToken string         `yaml:"jwks_token"`
	Accounts  []accountEntry `yaml:"accounts"`
	line      int
}

type accountEntry struct {
	Namespace string `yaml:"namespace"`
	Name      string `yaml:"name"`
	grant     `yaml:",inline"`
	line      int
}

type certificateEntry struct {
	Subject string `yaml:"subject"`
	grant   `yaml:",inline"`
	line    int
}

type peerEntry struct {
	UID   *uint32 `yaml:"uid"`
	GID   *uint32 `yaml:"gid"`
	grant `yaml:",inline"`
	line  int
}

func (e *tokenEntry) UnmarshalYAML(n *yaml.Node) error {
	type plain tokenEntry
	e.line = n.Line
	return n.Decode((*plain)(e))
}

func (e *serviceAccounts) UnmarshalYAML(n *yaml.Node) error {
	type plain serviceAccounts
	e.line = n.Line
	return n.Decode((*plain)(e))
}

func (e *accountEntry) UnmarshalYAML(n *yaml.Node) error {
	type plain accountEntry
	e.line = n.Line
	return n.Decode((*plain)(e))
}

func (e *certificateEntry) UnmarshalYAML(n *yaml.Node) error {
	type plain certificateEntry
	e.line = n.Line
	return n.Decode((*plain)(e))
}

func (e *peerEntry) UnmarshalYAML(n *yaml.Node) error {
	type plain peerEntry
	e.line = n.Line
	return n.Decode((*plain)(e))
}

// mistakes collects what is wrong with a file, each with its line.
type mistakes struct {
	name string
	list []error
}

func (m *mistakes) add(line int, format string, args ...any) {
	m.list = append(m.list, fmt.Errorf("%s:%d: %s", m.name, line, fmt.Sprintf(format, args...)))
}

func (m *mistakes) err() error { return errors.Join(m.list...) }

// identity makes the identity of an entry, or says what is wrong with it.
func (m *mistakes) identity(line int, name string, g *grant, defaults Limits) *Identity {
	i := &Identity{Name: name, Tenant: g.Tenant, Engines: g.Engines, Limits: g.Limits.within(m, line, defaults)}
	if len(g.Roles) == 0 {
		m.add(line, "%s has no roles; give some of %s", name, allRoles)
	}
	for _, role := range g.Roles {
		if !slices.Contains(roles, Role(role)) {
			m.add(line, "%s: there is no role %q; %s", name, role, nearestRole(role))
		}
		i.Roles = append(i.Roles, Role(role))
	}
	if i.Has(Admin) && len(g.Engines) > 0 {
		m.add(line, "%s: policies are for all engines, so that an admin cannot be bound to some; leave engines out", name)
	}
	for _, pattern := range g.Engines {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			m.add(line, "%s: %q is no pattern of engines; write names with *, ? and [a-z]", name, pattern)
		}
	}
	if len(g.Tenant) > 128 || strings.ContainsFunc(g.Tenant, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }) {
		m.add(line, "%s: the tenant must be up to 128 printable characters without spaces", name)
	}
	return i
}

var roles = []Role{Launcher, Worker, Reader, Admin}

const allRoles = "launcher, worker, reader, admin"

func nearestRole(role string) string {
	for _, known := range roles {
		if levenshtein.ComputeDistance(strings.ToLower(role), string(known)) <= 2 {
			return fmt.Sprintf("did you mean %q?", known)
		}
	}
	return "allowed are " + allRoles
}
