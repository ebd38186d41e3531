package api

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"
)

// showConfig answers GET /v1/config: the settings that the service runs with, without secrets.
func (x *exchange) showConfig() error {
	q, err := parseQuery(x.r.URL)
	if err != nil {
		return err
	}
	x.answer(q, encode(x.server.config.Shown()))
	return nil
}

const profiles = "/debug/pprof/"

// longestProfile bounds how long one profile may take; the library lifts the timeout of writing for it.
const longestProfile = 60

// withProfiles adds Go's profiles to the diagnostic address.
func withProfiles(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, found := strings.CutPrefix(r.URL.Path, profiles)
		seconds, _ := strconv.ParseFloat(r.URL.Query().Get("seconds"), 64)
		switch {
		case !found:
			next.ServeHTTP(w, r)
		case seconds > longestProfile:
			http.Error(w, fmt.Sprintf("a profile takes at most %d seconds", longestProfile), http.StatusBadRequest)
		case name == "cmdline":
			http.NotFound(w, r) // arguments may hold what /v1/config leaves out
		case name == "profile":
			pprof.Profile(w, r)
		case name == "symbol":
			pprof.Symbol(w, r)
		case name == "trace":
			pprof.Trace(w, r)
		default:
			pprof.Index(w, r)
		}
	})
}
