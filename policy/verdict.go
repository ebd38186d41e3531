package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// finish adds what the rules do not know: the groups to probe in full, the revision and the digest.
func (s *snapshot) finish(w *work, key [sha256.Size]byte) (Decision, error) {
	core, err := splitVerdict(w.result)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Outcome: core.outcome, Revision: s.revision, Digest: digestText(key), Now: w.now}
	out := make([]byte, 0, len(w.result)+512)
	out = append(append(append(out, `{"outcome":"`...), core.outcome...), `","checks":`...)
	out = append(append(out, core.checks...), `,"probe":[`...)
	if core.probe {
		out = appendGroups(out, topology.ProbeGroups(w.engine, w.stage))
	}
	out = append(out, ']')
	if len(core.assumed) > len(`[]`) {
		out = append(append(out, `,"assumed":`...), core.assumed...)
	}
	if len(core.disabled) > len(`[]`) {
		out = append(append(out, `,"disabled":`...), core.disabled...)
	}
	out = append(append(append(out, `,"revision":"`...), d.Revision...), `","digest":"`...)
	d.JSON = append(append(out, d.Digest...), `"}`...)
	return d, nil
}

func appendGroups(out []byte, groups []v1.Group) []byte {
	for i, g := range groups {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, `{"kind":"`...), g.Kind...), `","ranks":[`...)
		for j, rank := range g.Ranks {
			if j > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(out, rank, 10)
		}
		out = append(out, `]}`...)
	}
	return out
}

// verdictCore is data.tiergate.verdict; what is already JSON text for the answer stays text.
type verdictCore struct {
	assumed, checks, disabled []byte
	outcome                   string
	probe                     bool
}

// splitVerdict cuts the module's text at its five keys, which come sorted and without spaces. verdict.rego is ours, so its
// shape is known; what a site's check can put in is inside checks, and a key name between unescaped quotes cannot be part
// of any text there, so the first "checks" and the last of the others are the outer ones.
func splitVerdict(text []byte) (verdictCore, error) {
	rest, opened := bytes.CutPrefix(text, []byte(`{"assumed":`))
	assumed, rest, hasChecks := bytes.Cut(rest, []byte(`,"checks":`))
	rest, probed := bytes.CutSuffix(rest, []byte(`,"probe":true}`))
	rest, unprobed := bytes.CutSuffix(rest, []byte(`,"probe":false}`))
	if !opened || !hasChecks || probed == unprobed {
		return verdictCore{}, malformed(text)
	}
	rest, outcome, hasOutcome := cutLast(rest, `,"outcome":"`)
	checks, disabled, hasDisabled := cutLast(rest, `,"disabled":`)
	if !hasOutcome || !hasDisabled {
		return verdictCore{}, malformed(text)
	}
	core := verdictCore{assumed: assumed, checks: checks, disabled: disabled, probe: probed}
	switch string(outcome) {
	case v1.Allow + `"`:
		core.outcome = v1.Allow
	case v1.Deny + `"`:
		core.outcome = v1.Deny
	case v1.Unknown + `"`:
		core.outcome = v1.Unknown
	default:
		return verdictCore{}, malformed(text)
	}
	return core, nil
}

func malformed(text []byte) error {
	return &Error{Code: CodeEvaluation, Message: "the verdict is malformed: " + string(text), Err: ErrUndefined}
}

func cutLast(text []byte, sep string) (before, after []byte, found bool) {
	i := bytes.LastIndex(text, []byte(sep))
	if i < 0 {
		return text, nil, false
	}
	return text[:i], text[i+len(sep):], true
}

func digestText(d [sha256.Size]byte) string { return "sha256:" + hex.EncodeToString(d[:]) }
