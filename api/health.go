package api

import "net/http"

// health is what the health routes say.
type health struct {
	Status   string `json:"status"`
	Revision string `json:"revision,omitempty"`
}

// live says that the process answers at all; nothing else may make an orchestrator kill it.
func (x *exchange) live() error {
	x.send(http.StatusOK, typeJSON, encode(health{Status: "ok"}))
	return nil
}

// ready says that launches are being judged and workers admitted: a policy is in force, the state has been read, and the
// service is not shutting down.
func (x *exchange) ready() error {
	if x.server.draining.Load() {
		return errShuttingDown
	}
	info, err := x.server.engine.Info()
	if err != nil {
		return err
	}
	if !x.server.rendezvous.Ready() {
		return errNoState
	}
	x.send(http.StatusOK, typeJSON, encode(health{Status: "ok", Revision: info.Revision}))
	return nil
}
