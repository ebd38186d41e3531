package api

import (
	"net/http"
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous"
)

// view is a document that is made anew whenever it is looked at, under the name that its events have.
type view struct {
	event string
	key   rendezvous.Key
	make  func() (any, error)
}

// engines answers GET /v1/engines.
func (x *exchange) engines() error {
	q, err := parseQuery(x.r.URL)
	if err != nil {
		return err
	}
	tenant := rendezvous.Key{Tenant: x.identity.Tenant}
	return x.show(q, view{"engines", tenant, func() (any, error) {
		all := x.server.rendezvous.Engines(tenant.Tenant)
		all.Engines = slices.DeleteFunc(all.Engines, func(e v1.EngineSummary) bool { return !x.identity.Owns(e.Engine) })
		return all, nil
	}})
}

// showEngine answers GET /v1/engines/{engine}.
func (x *exchange) showEngine() error {
	c, err := x.call()
	if err != nil {
		return err
	}
	return x.show(c.query, view{"engine", c.caller.Key, func() (any, error) { return x.server.rendezvous.Engine(c.caller.Key) }})
}

// showAttempt answers GET /v1/engines/{engine}/attempts/{n}.
func (x *exchange) showAttempt() error {
	c, err := x.call()
	if err != nil {
		return err
	}
	return x.show(c.query, view{"attempt", c.caller.Key, func() (any, error) { return x.server.rendezvous.Attempt(c.caller.Key, c.attempt) }})
}

// show sends a view once, or again and again. What it holds counts against the budget of bodies, since a large engine takes
// megabytes.
func (x *exchange) show(q query, v view) error {
	if !x.server.rendezvous.Ready() {
		return errNoState
	}
	if q.watch {
		return x.watch(v)
	}
	var err error
	if x.place, err = x.server.queue.enter(); err != nil {
		return err
	}
	seen, err := v.make()
	if err != nil {
		return err
	}
	text := encode(seen)
	if err := x.place.reserve(int64(len(text))); err != nil {
		return err
	}
	x.sendDocument(http.StatusOK, q, text)
	return nil
}
