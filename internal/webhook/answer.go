package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// The outcomes of a review beside those of a verdict. OutcomeIgnored: nothing was there to judge. OutcomeTolerated: there
// are violations that deny, and this request is not to blame for them.
const (
	OutcomeIgnored   = "ignored"
	OutcomeTolerated = "tolerated"
)

// ranks orders outcomes: the answer has the gravest of its engines.
var ranks = []string{OutcomeIgnored, v1.Allow, v1.Unknown, OutcomeTolerated, v1.Deny}

// Answer is what an API server is told. It denies only with the outcome v1.Deny.
type Answer struct {
	Outcome string

	review *Review
	id     string
	// headlines name the engines that are denied, denied are their violations.
	headlines []string
	denied    []finding
	warnings  []string
	// revisions and digests are those of the verdicts, tolerated why some of them do not count.
	revisions, digests, tolerated []string
}

// Allowed tells whether the API server may go on.
func (a *Answer) Allowed() bool { return a.Outcome != v1.Deny }

// rise makes the outcome one that is at least so grave.
func (a *Answer) rise(outcome string) {
	if slices.Index(ranks, outcome) > slices.Index(ranks, a.Outcome) {
		a.Outcome = outcome
	}
}

func (a *Answer) note(verdict *v1.Verdict) {
	a.revisions = appendNew(a.revisions, verdict.Revision)
	a.digests = appendNew(a.digests, verdict.Digest)
}

func (a *Answer) deny(source string, found []finding) {
	a.rise(v1.Deny)
	a.headlines = append(a.headlines, source)
	for _, f := range found {
		if !slices.Contains(a.denied, f) {
			a.denied = append(a.denied, f)
		}
	}
}

// tolerate warns of violations that do not deny, once for each check.
func (a *Answer) tolerate(found []finding, why string) {
	if len(found) == 0 {
		return
	}
	a.rise(OutcomeTolerated)
	a.tolerated = appendNew(a.tolerated, why)
	for len(found) > 0 {
		first := found[0]
		rest := slices.DeleteFunc(slices.Clone(found), func(f finding) bool { return f.check == first.check })
		a.warnOf(first.check, why, len(found)-len(rest), first.message)
		found = rest
	}
}

// warn adds what is worth knowing of a verdict beside what denies: checks that only warn or are tried, and those that are
// decided later.
func (a *Answer) warn(verdict *v1.Verdict) {
	for i := range verdict.Checks {
		c := &verdict.Checks[i]
		switch {
		case c.Outcome == v1.Unknown && c.Enforcement == v1.EnforceDeny:
			a.warnOf(c.ID, "", 1, "decided at KV registration; not known yet: "+strings.Join(c.Missing, "; "))
		case c.Outcome == v1.Fail && c.Enforcement != v1.EnforceDeny && len(c.Violations) > 0:
			mark := map[string]string{v1.EnforceDryrun: "dry run"}[c.Enforcement]
			if c.Waiver != nil {
				mark = "waived"
			}
			a.warnOf(c.ID, mark, len(c.Violations), c.Violations[0].Message)
		}
	}
}

// warnOf warns of one check: its id, what there is to say of it and how often it is violated, then the first message.
func (a *Answer) warnOf(check, mark string, count int, message string) {
	if count > 1 {
		mark = strings.TrimPrefix(fmt.Sprintf("%s, %d times", mark, count), ", ")
	}
	if mark != "" {
		check += " (" + mark + ")"
	}
	a.add(check + ": " + message)
}

func (a *Answer) add(warning string) { a.warnings = appendNew(a.warnings, cut(warning, maxWarning)) }

// JSON is the review that is sent back.
func (a *Answer) JSON() []byte {
	r := reply{APIVersion: apiVersion, Kind: kind, Response: response{
		UID: a.review.UID, Allowed: a.Allowed(), Warnings: bounded(a.warnings), AuditAnnotations: a.annotations(),
	}}
	if !a.Allowed() {
		r.Response.Status = &status{
			Status: "Failure", Code: http.StatusForbidden, Reason: "Forbidden", Message: a.message(),
			Details: &statusDetails{Name: a.review.Name, Group: a.review.Group, Kind: a.review.Kind, Causes: a.causes()},
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // Texts always can be encoded.
	}
	return text
}

// annotations are for the audit log; the API server puts the webhook's name before the keys. Nothing was decided about an
// object without an engine, and so it has none.
func (a *Answer) annotations() map[string]string {
	if a.Outcome == OutcomeIgnored {
		return nil
	}
	out := map[string]string{"decision-id": a.id, "outcome": a.Outcome}
	for key, values := range map[string][]string{"revision": a.revisions, "digest": a.digests, "tolerated": a.tolerated} {
		if len(values) > 0 {
			out[key] = strings.Join(values, ",")
		}
	}
	return out
}

func appendNew(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}
