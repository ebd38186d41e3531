package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Rejection is the answer to an engine that must not start. Verdict and View are nil where they are not known.
type Rejection struct {
	Engine    string
	Admission *v1.Admission
	Verdict   *v1.Verdict
	View      *v1.AttemptView
}

// Reject writes why an engine must not start: what every rank's error says, the rank grid where a group spans, and what to
// change.
func Reject(w io.Writer, style Style, r Rejection) error {
	p := &page{Style: style}
	p.heading("", p.paint(red, "REJECTED"), fmt.Sprintf("engine %s, attempt %d", clean(r.Engine), r.Admission.Attempt))
	p.paragraphs(r.Admission.Message)
	if layout := newLayout(observed(r.View)); layout != nil && (layout.spans() || p.Grid) {
		p.blank()
		p.grid(layout)
	}
	if fixes := r.fixes(); fixes != nil {
		p.blank()
		for _, fix := range fixes {
			p.item("  ", "fix: ", fix)
		}
	}
	if r.Verdict != nil {
		p.footer(r.Verdict)
	}
	return p.flush(w)
}

// paragraphs writes the lines of a message of the service.
func (p *page) paragraphs(message string) {
	for line := range strings.Lines(message) {
		lead, rest := "", line
		for _, mark := range []string{"- ", "fix: "} {
			if text, found := strings.CutPrefix(line, mark); found {
				lead, rest = mark, text
			}
		}
		p.item("  ", lead, rest)
	}
}

// fixes are those of the failing checks that the message does not name.
func (r *Rejection) fixes() (list []string) {
	if r.Verdict == nil {
		return nil
	}
	for _, c := range newTally(r.Verdict).failing {
		for _, v := range c.Violations {
			if v.Fix != "" && !slices.Contains(list, v.Fix) && !strings.Contains(r.Admission.Message, v.Fix) {
				list = append(list, v.Fix)
			}
		}
	}
	return list[:min(len(list), maxShown)]
}
