//go:build linux

package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// rule is a check that never stops anything and whose text changes.
const rule = `# METADATA
# title: Edition
# description: It is there to be replaced, edition %[1]d.
# custom:
#   enforcement: warn
#   missing: not_applicable
#   needs: [input.engine.world_size]
#   docs: docs/operations.md
package tiergate.checks.soak.edition

applies := true

violations contains {
	"message": "edition %[1]d is in force",
	"fix": "nothing",
} if {
	input.engine.world_size == 0
}

unknown := set()
`

// Policies is a directory of rules that a service polls.
type Policies struct {
	// Dir is the directory; what is not complete yet stands beside it.
	Dir     string
	edition int
}

// Change puts the next edition into the place of the last, at once.
func (p *Policies) Change() error {
	p.edition++
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return err
	}
	next := p.Dir + ".next"
	if err := os.WriteFile(next, fmt.Appendf(nil, rule, p.edition), 0o644); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(p.Dir, "edition.rego"))
}

// Keep changes the policy every second until the context ends, and returns how often.
func (p *Policies) Keep(ctx context.Context) (changes int, err error) {
	for every := time.NewTicker(time.Second); ; changes++ {
		select {
		case <-ctx.Done():
			return changes, nil
		case <-every.C:
			if err := p.Change(); err != nil {
				return changes, err
			}
		}
	}
}
