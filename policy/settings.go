package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// Settings are what a site decides about the checks, in its data under data.settings.
type Settings struct {
	// Enforcement overrides a check's own by id: deny, warn or dryrun.
	Enforcement map[string]string `json:"enforcement"`
	// Disabled turns shipped checks off; each needs an owner and a reason.
	Disabled []v1.Disabled `json:"disabled"`
	Waivers  []Waiver      `json:"waivers"`
	// Features lists the engine versions for which the site relies on a feature, by its name: mirror.
	Features    map[string][]string `json:"features"`
	DecisionLog LogSettings         `json:"decision_log"`
	// AcceptFlips names stored launches whose verdicts this revision may change, each as FILE=OUTCOME.
	AcceptFlips []string `json:"accept_flips"`
}

// Waiver accepts the failure of a check for some engines until a date: it turns a deny into a warn.
type Waiver struct {
	Check string `json:"check"`
	// Engine is an engine id, or a prefix of one ending in *.
	Engine string `json:"engine"`
	Owner  string `json:"owner"`
	Reason string `json:"reason"`
	// Expires is a date or an RFC 3339 time.
	Expires string `json:"expires"`
	// AcceptCorruption must be true in a waiver for tiering.node_local.
	AcceptCorruption bool `json:"accept_corruption,omitempty"`
	// Expired is true once the date has passed; the waiver then has no effect.
	Expired bool `json:"expired,omitempty"`
	// Void says why a waiver has no effect; set at load.
	Void string `json:"void,omitempty"`
}

// nodeLocal is the check that guards against silently corrupted answers.
const nodeLocal = "tiering.node_local"

// applySettings reads data.settings and puts it into the checks.
func applySettings(src *files, checks []*Check) error {
	raw, given := src.data["settings"]
	if !given {
		return nil
	}
	text, err := asJSON(raw)
	if err != nil {
		return fmt.Errorf("read data.settings: %w", err)
	}
	var s Settings
	if err := json.Unmarshal(text, &s, json.RejectUnknownMembers(true)); err != nil {
		return locate(Errors{unreadable(err)}, src.settings)
	}
	a := applier{checks: map[string]*Check{}}
	for _, c := range checks {
		a.checks[c.ID] = c
	}
	a.enforce(s.Enforcement)
	a.disable(s.Disabled)
	a.waive(s.Waivers)
	src.mask, src.acceptFlips = a.mask(s.DecisionLog), s.AcceptFlips
	for _, flip := range s.AcceptFlips {
		if err := CheckFlip(flip); err != nil {
			a.refuse("data.settings.accept_flips: %s", err)
		}
	}
	for _, feature := range slices.Sorted(maps.Keys(s.Features)) {
		if feature != "mirror" {
			a.refuse("data.settings.features.%s: the only feature is mirror", feature)
		}
	}
	return locate(a.errs, src.settings)
}

// CheckFlip says what is wrong with the name of an accepted flip.
func CheckFlip(flip string) error {
	file, outcome, _ := strings.Cut(flip, "=")
	if file == "" || !slices.Contains([]string{v1.Allow, v1.Deny, v1.Unknown}, outcome) {
		return fmt.Errorf("%q names no flip; write a stored launch's file and the new outcome of its verdict, e.g. fleet-a.yaml=deny", flip)
	}
	return nil
}

// locate gives errors in settings the file that they come from, which their messages tell.
func locate(errs Errors, files map[string]string) error {
	for _, e := range errs {
		name := strings.TrimPrefix(e.Message, "data.settings")
		name = strings.TrimPrefix(name[:strings.IndexAny(name+" ", " :[")], ".")
		name, _, _ = strings.Cut(name, ".")
		e.File = cmp.Or(files[name], files[""])
	}
	return errs.orNil()
}

var (
	settingNames = []string{
		"enforcement", "disabled", "waivers", "features", "id", "owner", "reason", "check", "engine", "expires", "accept_corruption", "decision_log", "mask", "accept_flips",
	}
	settingForms = map[reflect.Kind]string{
		reflect.Map: "an object", reflect.Struct: "an object", reflect.Slice: "a list", reflect.String: "a text",
		reflect.Bool: "true or false",
	}
)

// unreadable says in the author's words what the decoder found.
func unreadable(err error) *Error {
	e := &Error{Code: CodeSettings, Message: "data.settings: " + err.Error()}
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return e
	}
	where := "data.settings" + strings.ReplaceAll(string(semantic.JSONPointer), "/", ".")
	if errors.Is(err, json.ErrUnknownName) {
		e.Message = didYouMean(where+": there is no such setting", semantic.JSONPointer.LastToken(), settingNames) +
			"\n  allowed are enforcement {check: deny, warn or dryrun}, disabled [{id, owner, reason}], " +
			"waivers [{check, engine, owner, reason, expires, accept_corruption}] and features {mirror: [version]}"
		return e
	}
	e.Message = fmt.Sprintf("%s: a JSON %s cannot stand here", where, semantic.JSONKind)
	if form := settingForms[semantic.GoType.Kind()]; form != "" {
		e.Message = fmt.Sprintf("%s must be %s, not a JSON %s", where, form, semantic.JSONKind)
	}
	return e
}

type applier struct {
	checks map[string]*Check
	errs   Errors
}

func (a *applier) refuse(format string, args ...any) {
	a.errs = append(a.errs, &Error{Code: CodeSettings, Message: fmt.Sprintf(format, args...)})
}

func (a *applier) find(id, where string) *Check {
	c := a.checks[id]
	if c == nil {
		ids := slices.Sorted(maps.Keys(a.checks))
		if near := topology.Nearest(id, ids); near != "" {
			a.refuse("%s names check %q, which does not exist; did you mean %s?", where, id, near)
		} else {
			a.refuse("%s names check %q, which does not exist; there are %s", where, id, strings.Join(ids, ", "))
		}
	}
	return c
}

func (a *applier) enforce(overrides map[string]string) {
	for _, id := range slices.Sorted(maps.Keys(overrides)) {
		enforcement := overrides[id]
		c := a.find(id, "data.settings.enforcement")
		if c == nil {
			continue
		}
		c.Overridden = c.Enforcement
		if !c.set("enforcement", enforcement) {
			a.refuse("data.settings.enforcement: %s is %q; %s", id, enforcement, customForms["enforcement"])
		}
	}
}

func (a *applier) disable(list []v1.Disabled) {
	for i, d := range list {
		where := fmt.Sprintf("data.settings.disabled[%d]", i)
		c := a.find(d.ID, where)
		if d.Owner == "" || d.Reason == "" {
			a.refuse("%s turns %s off without an owner and a reason", where, d.ID)
		}
		if c != nil {
			c.Disabled = &d
		}
	}
}

// waive attaches waivers to their checks. One that is not complete is kept, void, with the reason; it must not stop the
// rest of the policy from loading, since that would make every old waiver a time bomb.
func (a *applier) waive(waivers []Waiver) {
	for i, w := range waivers {
		c := a.find(w.Check, fmt.Sprintf("data.settings.waivers[%d]", i))
		if c == nil {
			continue
		}
		expires, readable := parseExpiry(w.Expires)
		switch {
		case w.Owner == "" || w.Reason == "":
			w.Void = "it has no owner or no reason"
		case !readable:
			w.Void = fmt.Sprintf("its expiry %q is neither a date nor an RFC 3339 time", w.Expires)
		case w.Engine == "" || strings.Contains(strings.TrimSuffix(w.Engine, "*"), "*"):
			w.Void = fmt.Sprintf("its engine %q is neither an id nor a prefix ending in *", w.Engine)
		case w.Check == nodeLocal && !w.AcceptCorruption:
			w.Void = "a waiver for tiering.node_local also needs accept_corruption: true"
		default:
			w.Expires = expires
		}
		c.Waivers = append(c.Waivers, w)
	}
}

// parseExpiry returns the moment in the form of input.now, so that the rules can compare the two as text.
func parseExpiry(s string) (string, bool) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC().Format(time.RFC3339), true
		}
	}
	return "", false
}

// withExpiry returns the checks with the waivers that have expired marked, and leaves what is in force alone.
func withExpiry(checks []*Check, now time.Time) []*Check {
	out := slices.Clone(checks)
	for i, c := range checks {
		if len(c.Waivers) == 0 {
			continue
		}
		marked := *c
		marked.Waivers = slices.Clone(c.Waivers)
		for j, w := range marked.Waivers {
			marked.Waivers[j].Expired = w.Void == "" && now.UTC().Format(time.RFC3339) >= w.Expires
		}
		out[i] = &marked
	}
	return out
}
