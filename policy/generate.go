package policy

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

const generatedFile = "generated.rego"

// generate writes the module that names every enabled check. A rule that iterated over the packages instead would build
// them as objects on every evaluation and cost three times as much. Each result is one of two constants of the data
// document where there is nothing to tell. A need is tested with type_name, which is defined for false and null too.
func generate(checks []*Check) string {
	var b strings.Builder
	b.WriteString("package tiergate.generated\n\nresults := [")
	for i := range checks {
		fmt.Fprintf(&b, "result_%d, ", i)
	}
	b.WriteString("]\n")
	for i, c := range checks {
		writeResult(&b, i, c)
	}
	b.WriteString("\nbroken contains id if {\n\tsome id in []\n}\n")
	for i, c := range checks {
		fmt.Fprintf(&b, "\nbroken contains %q if not result_%d\n", c.ID, i)
	}
	return b.String()
}

func writeResult(b *strings.Builder, i int, c *Check) {
	doc := checksPrefix + c.ID
	unknown := doc + ".unknown"
	fmt.Fprintf(b, "\nresult_%d := data.checks[%q].skipped if %s.applies == false\n", i, c.ID, doc)
	fmt.Fprintf(b, "else := data.checks[%q].passed if {\n\t%s.applies == true\n\tcount(%s.violations) == 0\n\tcount(%s) == 0\n",
		c.ID, doc, doc, unknown)
	for _, need := range c.Needs {
		fmt.Fprintf(b, "\ttype_name(%s)\n", need)
	}
	b.WriteString("}\n")
	if len(c.Needs) > 0 {
		unknown = fmt.Sprintf("%s | missing_%d", unknown, i)
	}
	fmt.Fprintf(b, "else := data.tiergate.judge(%q, %s.violations, %s) if %s.applies == true\n", c.ID, doc, unknown, doc)
	for j, need := range c.Needs {
		// The rule in between is needed: Rego takes input.x out of `not type_name(input.x)` and then finds the whole body
		// undefined where it meant to find out.
		fmt.Fprintf(b, "\nmissing_%d contains %q if not given_%d_%d\n", i, strings.TrimPrefix(need, "input."), i, j)
		fmt.Fprintf(b, "\ngiven_%d_%d if type_name(%s)\n", i, j, need)
	}
}

// checkData is what the rules see of a check under data.checks.
type checkData struct {
	Enforcement string         `json:"enforcement"`
	Missing     string         `json:"missing"`
	Passed      v1.CheckResult `json:"passed"`
	Skipped     v1.CheckResult `json:"skipped"`
	Waivers     []waiverData   `json:"waivers"`
}

type waiverData struct {
	Engine  *string `json:"engine,omitempty"`
	Prefix  *string `json:"engine_prefix,omitempty"`
	Owner   string  `json:"owner"`
	Reason  string  `json:"reason"`
	Expires string  `json:"expires"`
}

// generatedData returns data.checks and data.disabled.
func generatedData(checks []*Check) (map[string]checkData, []v1.Disabled) {
	data, disabled := map[string]checkData{}, []v1.Disabled{}
	for _, c := range checks {
		if c.Disabled != nil {
			disabled = append(disabled, *c.Disabled)
			continue
		}
		result := func(outcome string) v1.CheckResult {
			return v1.CheckResult{ID: c.ID, Outcome: outcome, Enforcement: c.Enforcement, Violations: []v1.Violation{}}
		}
		d := checkData{
			Enforcement: c.Enforcement, Missing: c.Missing,
			Passed: result(v1.Pass), Skipped: result(v1.NotApplicable), Waivers: []waiverData{},
		}
		for _, w := range c.Waivers {
			if w.Void == "" {
				d.Waivers = append(d.Waivers, w.data())
			}
		}
		data[c.ID] = d
	}
	return data, disabled
}

func (w Waiver) data() waiverData {
	d := waiverData{Owner: w.Owner, Reason: w.Reason, Expires: w.Expires}
	if prefix, ok := strings.CutSuffix(w.Engine, "*"); ok {
		d.Prefix = &prefix
	} else {
		d.Engine = &w.Engine
	}
	return d
}

// enabled returns the checks that are evaluated, by id.
func enabled(checks []*Check) []*Check {
	list := slices.DeleteFunc(slices.Clone(checks), func(c *Check) bool { return c.Disabled != nil })
	slices.SortFunc(list, func(a, b *Check) int { return strings.Compare(a.ID, b.ID) })
	return list
}
