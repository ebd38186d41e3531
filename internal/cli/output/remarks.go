package output

import (
	"fmt"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// remarks writes what is no finding but bears on how far the answer can be trusted.
func (p *page) remarks(t tally, verdict *v1.Verdict) {
	p.blank()
	for _, text := range verdict.Assumed {
		p.item("  ", "assumed: ", text)
	}
	p.disabled(verdict.Disabled)
	if p.Verbose {
		p.quiet(t)
		return
	}
	if len(t.unjudged) > 0 {
		p.item("  ", "not judged for lack of facts: ", ids(t.unjudged))
	}
	p.item("  ", "", fmt.Sprintf("%s %s, %d not applicable (--verbose lists them)",
		checks(len(t.passed)), plural(len(t.passed), "passes", "pass"), len(t.skipped)))
}

func (p *page) disabled(list []v1.Disabled) {
	for _, d := range list {
		p.item("  ", "disabled: ", fmt.Sprintf("%s by %s: %s", d.ID, d.Owner, d.Reason))
	}
}

// quiet lists the checks that found nothing.
func (p *page) quiet(t tally) {
	for _, c := range t.unjudged {
		p.item("  ", "not judged: ", fmt.Sprintf("%s, for lack of %s", c.ID, strings.Join(c.Missing, "; ")))
	}
	for _, c := range t.passed {
		p.item("  ", "pass: ", c.ID)
	}
	for _, c := range t.skipped {
		p.item("  ", "not applicable: ", c.ID)
	}
}
