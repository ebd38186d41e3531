package output

import (
	"fmt"
	"io"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// textFormat is for people: for each input a headline, what needs attention, most urgent first, and the rank grid.
type textFormat struct{ style Style }

func (f textFormat) Write(w io.Writer, results []Result) error {
	p := &page{Style: f.style}
	for i, r := range results {
		if i > 0 {
			p.blank()
		}
		p.result(r)
	}
	if len(results) > 1 {
		p.blank()
		p.text("", summary(results))
	}
	return p.flush(w)
}

func (p *page) result(r Result) {
	if r.Failure != nil {
		p.heading("", p.paint(red, "ERROR"), clean(r.Source)+": "+clean(r.Failure.String()))
		return
	}
	t := newTally(r.Verdict)
	p.headline(r, t)
	p.findings(t)
	p.remarks(t, r.Verdict)
	if p.Grid || len(t.failing)+len(t.warning)+len(t.unknown) > 0 {
		if layout := newLayout(r.Launch); layout != nil && (p.Grid || layout.spans()) {
			p.blank()
			p.grid(layout)
		}
	}
	p.footer(r.Verdict)
}

// footer identifies the answer.
func (p *page) footer(verdict *v1.Verdict) {
	p.blank()
	p.text("  ", p.paint(faint, fmt.Sprintf("revision %s, digest %s", clean(verdict.Revision), clean(verdict.Digest))))
}

func (p *page) headline(r Result, t tally) {
	colours := map[string]string{v1.Allow: green, v1.Deny: red, v1.Unknown: yellow}
	word := p.paint(colours[r.Verdict.Outcome], strings.ToUpper(clean(r.Verdict.Outcome)))
	if r.Launch == nil || r.Launch.Engine.ID == "" {
		p.heading("", word, clean(r.Source)+": "+t.String())
		return
	}
	p.heading("", word, clean(r.Launch.Engine.ID)+": "+t.String())
	p.item("  ", "in ", r.Source)
}

// summary counts the answers to several inputs.
func summary(results []Result) string {
	counts := map[string]int{}
	for _, r := range results {
		if r.Failure != nil {
			counts["error"]++
		} else {
			counts[r.Verdict.Outcome]++
		}
	}
	var parts []string
	for _, outcome := range []string{v1.Allow, v1.Deny, v1.Unknown, "error"} {
		if n := counts[outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	return fmt.Sprintf("%d inputs: %s", len(results), strings.Join(parts, ", "))
}

// String says what is wrong and where, on one line.
func (f *Failure) String() string {
	var where []string
	if f.Line > 0 {
		where = append(where, fmt.Sprintf("line %d", f.Line))
	}
	if f.Column > 0 {
		where = append(where, fmt.Sprintf("column %d", f.Column))
	}
	if f.Pointer != "" {
		where = append(where, f.Pointer)
	}
	if where == nil {
		return f.Detail
	}
	return strings.Join(where, ", ") + ": " + f.Detail
}
