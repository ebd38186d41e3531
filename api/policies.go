package api

import (
	"net/http"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// policies answers GET /v1/policies: what is in force, and 304 to a client that has it.
func (x *exchange) policies() error {
	q, err := parseQuery(x.r.URL)
	if err != nil {
		return err
	}
	info, err := x.server.engine.Info()
	if err != nil {
		return err
	}
	etag := `"` + info.Digest + `"`
	x.w.Header()["Etag"] = []string{etag}
	if matches(x.r.Header.Get("If-None-Match"), etag) {
		x.w.Header()[headerID] = []string{x.id}
		x.status = http.StatusNotModified
		x.w.WriteHeader(x.status)
		return nil
	}
	x.answer(q, encode(info))
	return nil
}

// matches tells whether an If-None-Match header has the tag.
func matches(header, etag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == etag || candidate == "*" {
			return true
		}
	}
	return false
}

// notEnabled answers the routes that change or show what an administrator alone may.
func (x *exchange) notEnabled() error {
	return &refusal{v1.CodeNotEnabled, "this route is only served to an authenticated administrator, which this " +
		"service is not set up for; change the files that it was started with"}
}
