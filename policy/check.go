package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// Check is one rule file with what its METADATA says.
type Check struct {
	// ID is area.name, from the package tiergate.checks.<area>.<name>.
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	// Enforcement is deny, warn or dryrun: the rule's own, or the one that settings override it with.
	Enforcement string `json:"enforcement"`
	// Overridden is the rule's own enforcement where settings override it, else empty.
	Overridden string `json:"overridden,omitempty"`
	// Missing is the outcome when a fact is missing: unknown or not_applicable.
	Missing string `json:"missing"`
	// Needs are the input paths whose absence is reported as missing, e.g. input.groups.
	Needs   []string `json:"needs,omitempty"`
	Docs    string   `json:"docs,omitempty"`
	File    string   `json:"file"`
	Row     int      `json:"row"`
	BuiltIn bool     `json:"built_in"`
	// Disabled is set where settings turn the check off.
	Disabled *v1.Disabled `json:"disabled,omitempty"`
	Waivers  []Waiver     `json:"waivers,omitempty"`
}

// declared are the rules that every check defines, and the only ones: what else a package holds would be evaluated with it.
var declared = []string{"applies", "unknown", "violations"}

const checksPrefix = "data.tiergate.checks."

// isCheck tells a check's package, tiergate.checks.<area>.<name>, from a library's.
func isCheck(m *ast.Module) bool { return strings.HasPrefix(m.Package.Path.String()+".", checksPrefix) }

// readCheck reads a check from its module; all that is wrong with it is reported at once.
func readCheck(m *ast.Module, builtIn bool) (*Check, Errors) {
	loc := m.Package.Location
	c := &Check{File: loc.File, Row: loc.Row, BuiltIn: builtIn}
	c.ID = strings.TrimPrefix(m.Package.Path.String(), checksPrefix)
	var errs Errors
	if strings.Count(c.ID, ".") != 1 || strings.ContainsAny(c.ID, `["`) {
		errs = append(errs, at(CodeCheck, loc,
			"package %s: a check's package is tiergate.checks.<area>.<name>, both plain names", m.Package.Path))
	}
	errs = append(errs, c.checkRules(m)...)
	return c, append(errs, c.readMetadata(m)...)
}

func (c *Check) checkRules(m *ast.Module) (errs Errors) {
	found := map[string]bool{}
	for _, rule := range m.Rules {
		name := rule.Head.Ref().String()
		found[name] = true
		switch {
		case !slices.Contains(declared, name):
			errs = append(errs, at(CodeCheck, rule.Location, "%s", didYouMean(fmt.Sprintf(
				"check %s defines %s: a check defines applies, unknown and violations only; move helpers to a package of their own",
				c.ID, name), name, declared)))
		case name == "unknown" && isEmptySet(rule): // the check needs nothing that may be missing
		case (name == "applies") == (rule.Head.Key != nil), len(rule.Head.Args) > 0:
			form := map[bool]string{true: "applies := true or false", false: name + " contains ..."}[name == "applies"]
			errs = append(errs, at(CodeCheck, rule.Location, "check %s: %s must have the form %q", c.ID, name, form))
		default:
			errs = append(errs, c.checkMember(name, rule)...)
		}
	}
	errs = append(errs, c.checkApplies(m)...)
	for _, name := range declared {
		if !found[name] {
			errs = append(errs, at(CodeCheck, m.Package.Location, "check %s does not define %s", c.ID, name))
		}
	}
	return errs
}

func isEmptySet(rule *ast.Rule) bool {
	if rule.Head.Value == nil {
		return false
	}
	set, ok := rule.Head.Value.Value.(ast.Set)
	return ok && set.Len() == 0
}

func (c *Check) readMetadata(m *ast.Module) (errs Errors) {
	var meta *ast.Annotations
	for _, a := range m.Annotations {
		if a.Scope == "package" {
			meta = a
		}
	}
	loc := m.Package.Location
	if meta == nil {
		return Errors{at(CodeCheck, loc, "check %s has no METADATA block above its package", c.ID)}
	}
	c.Title, c.Description = meta.Title, strings.TrimSpace(meta.Description)
	if c.Title == "" {
		errs = append(errs, at(CodeCheck, loc, "check %s: METADATA has no title", c.ID))
	}
	for _, key := range slices.Sorted(maps.Keys(meta.Custom)) {
		value := meta.Custom[key]
		if _, known := customForms[key]; !known {
			if near := topology.Nearest(key, slices.Sorted(maps.Keys(customForms))); near != "" {
				errs = append(errs, at(CodeCheck, meta.Location, "check %s: METADATA custom.%s is not known; did you mean custom.%s?",
					c.ID, key, near))
			}
		}
		if !c.set(key, value) {
			errs = append(errs, at(CodeCheck, meta.Location, "check %s: METADATA custom.%s is %v; %s%s",
				c.ID, key, value, customForms[key], c.nearestNeed(key)))
		}
	}
	if c.Enforcement == "" {
		errs = append(errs, at(CodeCheck, loc, "check %s: METADATA has no custom.enforcement (deny, warn or dryrun)", c.ID))
	}
	if c.Missing == "" {
		c.Missing = v1.NotApplicable
	}
	return errs
}

var customForms = map[string]string{
	"enforcement": "allowed are deny, warn and dryrun",
	"missing":     "allowed are unknown and not_applicable",
	"needs":       "allowed is a list of input paths that the facts have, e.g. input.groups",
	"docs":        "allowed is a string",
}

// set stores one custom metadata value; keys that Tiergate does not know are the author's own.
func (c *Check) set(key string, value any) bool {
	text, isText := value.(string)
	switch key {
	case "enforcement":
		c.Enforcement = text
		return slices.Contains([]string{v1.EnforceDeny, v1.EnforceWarn, v1.EnforceDryrun}, text)
	case "missing":
		c.Missing = text
		return text == v1.Unknown || text == v1.NotApplicable
	case "docs":
		c.Docs = text
		return isText
	case "needs":
		list, isList := value.([]any)
		for _, need := range list {
			c.Needs = append(c.Needs, fmt.Sprint(need))
		}
		return isList && !slices.ContainsFunc(c.Needs, func(need string) bool { return !isFact(need) })
	}
	return true
}
