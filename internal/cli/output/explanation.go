package output

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
)

// Explanation is a result with what led to it.
type Explanation struct {
	Result
	// Facts are what the rules saw, Raw is the same as they saw it.
	Facts *topology.Facts
	Raw   json.RawMessage
	// Checks are those of the policy; turned-off ones are among them.
	Checks []*policy.Check
	// Evidence are the rules that held, by check.
	Evidence map[string][]policy.Evidence
}

// explained is the form of an explanation for programs.
type explained struct {
	Document
	Checks []explainedCheck `json:"checks,omitempty"`
	Facts  json.RawMessage  `json:"facts,omitempty"`
}

type explainedCheck struct {
	v1.CheckResult
	Title       string          `json:"title"`
	Description string          `json:"description,omitempty"`
	Needs       []explainedFact `json:"needs,omitempty"`
	File        string          `json:"file"`
	Row         int             `json:"row"`
	Docs        string          `json:"docs,omitempty"`
	// DecidedBy are the rules that held and made the outcome.
	DecidedBy []policy.Evidence `json:"decided_by,omitempty"`
}

// explainedFact is a fact that a check reads; one without a value is missing.
type explainedFact struct {
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Explain writes explanations as text, JSON or YAML.
func Explain(w io.Writer, format string, style Style, list []Explanation) error {
	if format == Text {
		return explainText(w, style, list)
	}
	docs := make([]any, len(list))
	for i, e := range list {
		docs[i] = explained{Document: documentOf(e.Result), Checks: e.checks(), Facts: e.Raw}
	}
	return WriteDocuments(w, format, docs)
}

// checks joins the results of the checks with what the policy says about them.
func (e *Explanation) checks() []explainedCheck {
	if e.Verdict == nil {
		return nil
	}
	list := make([]explainedCheck, len(e.Verdict.Checks))
	for i, result := range e.Verdict.Checks {
		list[i] = explainedCheck{CheckResult: result, DecidedBy: e.Evidence[result.ID]}
		at := slices.IndexFunc(e.Checks, func(c *policy.Check) bool { return c.ID == result.ID })
		if at < 0 {
			continue
		}
		c := e.Checks[at]
		list[i].Title, list[i].Description, list[i].Docs = c.Title, c.Description, c.Docs
		list[i].File, list[i].Row = c.File, c.Row
		for _, need := range c.Needs {
			list[i].Needs = append(list[i].Needs, explainedFact{need, factAt(e.Raw, need)})
		}
	}
	return list
}

// factAt finds the value of an input path such as input.engine.world_size; it is nil where the fact is missing.
func factAt(facts json.RawMessage, path string) json.RawMessage {
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "input."), ".") {
		var members map[string]json.RawMessage
		if json.Unmarshal(facts, &members) != nil {
			return nil
		}
		facts = members[name]
	}
	return facts
}
