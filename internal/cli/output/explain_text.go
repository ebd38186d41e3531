package output

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
)

func explainText(w io.Writer, style Style, list []Explanation) error {
	p := &page{Style: style}
	for i, e := range list {
		if i > 0 {
			p.blank()
		}
		p.explanation(&e)
	}
	return p.flush(w)
}

func (p *page) explanation(e *Explanation) {
	if e.Failure != nil {
		p.result(e.Result)
		return
	}
	p.headline(e.Result, newTally(e.Verdict))
	p.blank()
	p.text("  ", p.paint(bold, "understood as"))
	for _, line := range reading(e.Facts) {
		if line[1] != "" {
			p.item("    ", fmt.Sprintf("%-11s", line[0]), line[1])
		}
	}
	for _, text := range e.Facts.Placement.Missing {
		p.item("    ", "missing    ", text)
	}
	for _, text := range e.Verdict.Assumed {
		p.item("    ", "assumed    ", text)
	}
	checks := e.checks()
	for _, c := range checks {
		p.explainCheck(c)
	}
	p.blank()
	p.disabled(e.Verdict.Disabled)
	p.facts(checks)
	p.blank()
	if layout := newLayout(e.Launch); layout != nil {
		p.grid(layout)
	} else {
		p.text("  ", "no rank grid: not all of its sizes are known")
	}
	p.footer(e.Verdict)
}

func (p *page) explainCheck(c explainedCheck) {
	p.blank()
	p.heading("  ", p.outcome(c.CheckResult)+" "+p.paint(bold, clean(c.ID)), "("+clean(c.Enforcement)+") "+clean(c.Title))
	p.violations("    ", c.Violations)
	p.missing(c.Missing)
	switch {
	case c.Outcome == v1.Pass:
		p.text("    ", "nothing found")
	case c.Outcome == v1.NotApplicable && len(c.Missing) == 0:
		p.text("    ", "does not apply to this launch")
	}
	if c.Waiver != nil {
		p.waiver(c.Waiver)
	}
	if c.Outcome != v1.NotApplicable || p.Verbose {
		p.evidence(c.DecidedBy)
	}
	if len(c.Needs) > 0 {
		names := make([]string, len(c.Needs))
		for i, need := range c.Needs {
			names[i] = need.Path
		}
		p.item("    ", "reads ", strings.Join(names, ", "))
	}
	p.item("    ", "rule  ", strings.TrimSuffix(fmt.Sprintf("%s:%d, %s", c.File, c.Row, c.Docs), ", "))
}

// evidence writes the rules that held. Functions of libraries only put texts and numbers together; they are in the JSON.
func (p *page) evidence(list []policy.Evidence) {
	for _, e := range list {
		if !e.Own && e.Function && !p.Verbose {
			continue
		}
		reads := make([]string, len(e.Reads))
		for i, read := range e.Reads {
			reads[i] = fmt.Sprintf("%s (line %d)", read.Fact, read.Row)
		}
		text := fmt.Sprintf("%s:%d %s", e.File, e.Row, e.Rule[strings.LastIndex(e.Rule, ".")+1:])
		if len(reads) > 0 {
			text += ", from " + strings.Join(reads, ", ")
		}
		p.item("    ", "because ", text)
	}
}

// facts writes what the checks read, each fact once.
func (p *page) facts(checks []explainedCheck) {
	values := map[string]explainedFact{}
	for _, c := range checks {
		for _, need := range c.Needs {
			values[need.Path] = need
		}
	}
	p.text("  ", p.paint(bold, "facts that the checks read"))
	for _, path := range slices.Sorted(maps.Keys(values)) {
		p.item("    ", path+" = ", p.fact(values[path]))
	}
}

func (p *page) outcome(c v1.CheckResult) string {
	switch {
	case c.Outcome == v1.Fail && c.Enforcement == v1.EnforceDeny:
		return p.paint(red, "FAIL")
	case c.Outcome == v1.Fail:
		return p.paint(yellow, "FAIL")
	case c.Outcome == v1.Unknown:
		return p.paint(yellow, "UNKNOWN")
	case c.Outcome == v1.Pass:
		return p.paint(green, "PASS")
	default:
		return p.paint(faint, "NOT APPLICABLE")
	}
}

// maxFact is how much of a fact's value is shown, in bytes.
const maxFact = 200

func (p *page) fact(f explainedFact) string {
	switch value := string(f.Value); {
	case f.Value == nil:
		return "missing"
	case p.Verbose || len(value) <= maxFact:
		return value
	default:
		cut := maxFact
		for !utf8.RuneStart(value[cut]) {
			cut--
		}
		return value[:cut] + fmt.Sprintf("... and %d bytes more (--verbose)", len(value)-cut)
	}
}
