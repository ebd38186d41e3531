package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
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
	shown := struct {
		policy.Info
		Status *v1.PolicyStatus `json:"status,omitempty"`
	}{Info: info}
	if x.server.policies != nil {
		status := x.server.policies.Status()
		shown.Status = &status
	}
	etag := `"` + info.Digest + troubles(shown.Status) + `"`
	x.w.Header()["Etag"] = []string{etag}
	if matches(x.r.Header.Get("If-None-Match"), etag) {
		x.w.Header()[headerID] = []string{x.id}
		x.status = http.StatusNotModified
		x.w.WriteHeader(x.status)
		return nil
	}
	x.answer(q, encode(shown))
	return nil
}

// troubles stand for what an answer has to tell beside what is in force; empty for nothing.
func troubles(status *v1.PolicyStatus) string {
	if status == nil {
		return ""
	}
	var told []string
	if status.Candidate != nil {
		told = append(told, string(encode(status.Candidate)))
	}
	for _, s := range status.Sources {
		if s.Error != "" {
			told = append(told, s.Source, s.Error)
		}
	}
	if told == nil {
		return ""
	}
	sum := sha256.Sum256(encode(told))
	return "-" + hex.EncodeToString(sum[:8])
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
