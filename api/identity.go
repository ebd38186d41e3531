package api

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/access"
)

// The roles of routes. What a launcher and a worker may do they need to do; the rest is for those who were named for it.
var (
	judging   = []access.Role{access.Launcher}
	reporting = []access.Role{access.Worker}
	revoking  = []access.Role{access.Worker, access.Launcher, access.Admin}
	looking   = []access.Role{access.Launcher, access.Worker, access.Reader, access.Admin}
	reading   = []access.Role{access.Launcher, access.Reader, access.Admin}
	ruling    = []access.Role{access.Admin}
)

// anonymous is everybody where nobody is asked for credentials.
var anonymous = access.Anonymous()

// admit finds out who asks and whether it may, before anything of the request is read.
func (x *exchange) admit() (err error) {
	guard := x.server.access
	x.identity = anonymous
	if guard != nil {
		x.identity, err = guard.Identify(x.r)
		if err != nil && x.server.config.AllowUnauthenticated && x.r.Header.Get("Authorization") == "" {
			x.identity, err = anonymous, nil
		}
		if err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(x.route.roles, x.identity.Has) {
		return &refusal{v1.CodeForbidden, fmt.Sprintf("%s may not do this: it takes the role %s, and %s has %s; ask whoever keeps the "+
			"access file of this service", x.identity.Name, roleNames(x.route.roles, " or "), x.identity.Name, roleNames(x.identity.Roles, ", "))}
	}
	if guard != nil {
		return guard.Take(x.identity)
	}
	return nil
}

func roleNames(roles []access.Role, separator string) string {
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = string(role)
	}
	return strings.Join(names, separator)
}

// by is who calls about an engine, as an attempt is bound to it. Launchers and administrators may revoke what any of their
// tenant's identities opened.
func (x *exchange) by() string {
	if x.r.Method == http.MethodDelete && (x.identity.Has(access.Launcher) || x.identity.Has(access.Admin)) {
		return ""
	}
	return x.identity.Name
}

// notOwn refuses an engine that an identity may not ask about.
func (x *exchange) notOwn(engine string) error {
	return &refusal{v1.CodeForbidden, fmt.Sprintf("%s may not ask about engine %s; its engines are %s", x.identity.Name, shorten(engine),
		strings.Join(x.identity.Engines, ", "))}
}

// bodyLimit is the largest body that the identity may send.
func (x *exchange) bodyLimit() int64 {
	limit := int64(x.server.config.MaxBody)
	if own := x.identity.Limits.MaxBody; own > 0 {
		limit = min(limit, own)
	}
	return limit
}

// challenge adds what the client needs to do better: which credentials are taken, or when it may ask again.
func (x *exchange) challenge(err error) {
	var denied *access.Error
	if !errors.As(err, &denied) {
		return
	}
	if denied.Code == v1.CodeUnauthenticated {
		x.w.Header()["Www-Authenticate"] = []string{`Bearer realm="tiergate"`}
	}
	if denied.RetryAfter > 0 {
		x.w.Header()["Retry-After"] = []string{strconv.Itoa(int(math.Ceil(denied.RetryAfter.Seconds())))}
	}
}
