package lookback

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// VerdictFlip is the check id of flips of the whole verdict.
const VerdictFlip = "verdict"

// absent is the outcome of a check that a revision does not have.
const absent = "absent"

// Flip is how one check, or the verdict, comes out under two revisions.
type Flip = v1.Flip

// verdict is what is compared of a verdict; reading no more of it makes replays half as long.
type verdict struct {
	Outcome string  `json:"outcome"`
	Checks  []check `json:"checks"`
}

type check struct {
	ID          string `json:"id"`
	Outcome     string `json:"outcome"`
	Enforcement string `json:"enforcement"`
}

// trusting reads what Tiergate wrote itself, without looking for members that are given twice.
var trusting = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Flips compares two verdicts, as JSON; none if they say the same of the launch, whatever their words.
func Flips(before, after []byte) ([]Flip, error) {
	var from, to verdict
	if err := json.Unmarshal(before, &from, trusting); err != nil {
		return nil, fmt.Errorf("read verdict: %w", err)
	}
	if err := json.Unmarshal(after, &to, trusting); err != nil {
		return nil, fmt.Errorf("read verdict: %w", err)
	}
	return flips(&from, &to), nil
}

func flips(from, to *verdict) (flips []Flip) {
	if from.Outcome != to.Outcome {
		flips = append(flips, Flip{Check: VerdictFlip, From: from.Outcome, To: to.Outcome})
	}
	after := make(map[string]*check, len(to.Checks))
	for i := range to.Checks {
		after[to.Checks[i].ID] = &to.Checks[i]
	}
	for i := range from.Checks {
		c := &from.Checks[i]
		if a, b := outcome(c), outcome(after[c.ID]); a != b {
			flips = append(flips, Flip{Check: c.ID, From: a, To: b})
		}
		delete(after, c.ID)
	}
	for id, c := range after {
		flips = append(flips, Flip{Check: id, From: absent, To: outcome(c)})
	}
	slices.SortFunc(flips, compare)
	return flips
}

func compare(a, b Flip) int {
	return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}

func outcome(c *check) string {
	switch {
	case c == nil:
		return absent
	case c.Outcome == v1.Fail && c.Enforcement != v1.EnforceDeny:
		return c.Outcome + " (" + c.Enforcement + ")"
	}
	return c.Outcome
}
