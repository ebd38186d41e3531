package access

import (
	"path"
	"slices"
)

// Role is what an identity may do.
type Role string

// The roles. Launchers have launches judged, and look at and revoke the attempts of their tenant's engines; workers report for
// engines of their own; readers look on; administrators change policies and read decisions.
const (
	Launcher Role = "launcher"
	Worker   Role = "worker"
	Reader   Role = "reader"
	Admin    Role = "admin"
)

// Identity is who asks.
type Identity struct {
	// Name says how it was told and who it is, e.g. token:ci or serviceaccount:ns/vllm. It is shown in logs and to whoever
	// shares its tenant.
	Name   string
	Tenant string
	Roles  []Role
	// Engines are patterns of path.Match of the engines that it may ask about; without any it may ask about all of its tenant.
	Engines []string
	Limits  Limits
}

// Limits bound what one identity asks; zero is no bound of its own.
type Limits struct {
	// RequestsPerSecond is the rate in the long run, Burst how many requests may come at once.
	RequestsPerSecond float64
	Burst             int
	// MaxBody is the largest body. Bytes.
	MaxBody int64
}

// Anonymous is everybody on a service that asks for no credentials. Nobody in particular is no administrator.
func Anonymous() *Identity {
	return &Identity{Name: "anonymous", Roles: []Role{Launcher, Worker, Reader}}
}

// Has tells whether the identity has a role.
func (i *Identity) Has(role Role) bool { return slices.Contains(i.Roles, role) }

// Owns tells whether the identity may ask about an engine of its tenant.
func (i *Identity) Owns(engine string) bool {
	return len(i.Engines) == 0 || slices.ContainsFunc(i.Engines, func(pattern string) bool {
		matched, err := path.Match(pattern, engine)
		return matched && err == nil
	})
}
