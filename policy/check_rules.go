package policy

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// checkMember refuses members of violations and unknown that are written out and that the verdict could not use. Others
// are found when they come up, and then there is no verdict.
func (c *Check) checkMember(name string, rule *ast.Rule) Errors {
	if rule.Head.Key == nil {
		return nil
	}
	switch value := rule.Head.Key.Value.(type) {
	case ast.Var, ast.Ref, ast.Call:
		return nil
	case ast.String, *ast.TemplateString:
		if name == "unknown" {
			return nil
		}
	case ast.Object:
		if name == "unknown" {
			break
		}
		if value.Get(ast.StringTerm("message")) != nil {
			return nil
		}
		return Errors{at(CodeCheck, rule.Location, "%s", didYouMeanKey(fmt.Sprintf("check %s: a violation has no message", c.ID), value))}
	}
	form := map[string]string{"violations": `an object: {"message": "what is wrong", ...}`, "unknown": "a text, the name of a fact"}[name]
	return Errors{at(CodeCheck, rule.Location, "check %s: a member of %s is %s", c.ID, name, form)}
}

func didYouMeanKey(message string, object ast.Object) string {
	for _, key := range object.Keys() {
		if name, ok := key.Value.(ast.String); ok && didYouMean("", string(name), []string{"message"}) != "" {
			return fmt.Sprintf("%s, but %s; did you mean message?", message, name)
		}
	}
	return message
}

// checkApplies finds the commonest way to leave applies undefined: conditions for true, and nothing that says false.
func (c *Check) checkApplies(m *ast.Module) Errors {
	var first *ast.Rule
	for _, rule := range m.Rules {
		if rule.Head.Ref().String() != "applies" {
			continue
		}
		if first == nil {
			first = rule
		}
		for r := rule; r != nil; r = r.Else {
			if r.Default || isConstant(r) || r.Head.Value == nil || !r.Head.Value.Equal(ast.BooleanTerm(true)) {
				return nil
			}
		}
	}
	if first == nil {
		return nil
	}
	return Errors{at(CodeCheck, first.Location,
		"check %s: applies is undefined where its conditions do not hold; add the rule: default applies := false", c.ID)}
}
