package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// noSuchRules finds references into a package to what is neither a rule there nor in the data: to the compiler they are
// data that may come yet, and at evaluation they are silently undefined. It works on compiled modules, in which every
// reference is written out.
func (p *parsed) noSuchRules(c *ast.Compiler) (errs Errors) {
	packages := map[string]bool{}
	for _, m := range c.Modules {
		packages[m.Package.Path.String()] = true
	}
	for _, name := range sortedModules(c.Modules) {
		if strings.HasSuffix(name, "_test.rego") || name == generatedFile {
			continue
		}
		told := map[string]bool{}
		ast.WalkRefs(c.Modules[name], func(ref ast.Ref) bool {
			if e := p.noSuchRule(c.RuleTree, packages, ref); e != nil && !told[e.Error()] {
				told[e.Error()] = true
				errs = append(errs, e)
			}
			return false
		})
	}
	return errs
}

func (p *parsed) noSuchRule(rules *ast.TreeNode, packages map[string]bool, ref ast.Ref) *Error {
	if !ref[0].Equal(ast.DefaultRootDocument) {
		return nil
	}
	node := rules.Child(ref[0].Value)
	var data any = p.data
	for i := 1; node != nil && i < len(ref) && len(node.Values) == 0; i++ {
		segment, isText := ref[i].Value.(ast.String)
		if !isText {
			return nil
		}
		object, _ := data.(map[string]any)
		inData := false
		data, inData = object[string(segment)]
		next := node.Child(segment)
		if next == nil && !inData && packages[ref[:i].String()] {
			pkg := strings.TrimPrefix(ref[:i].String(), "data.")
			names := childNames(node)
			message := fmt.Sprintf("package %s has no rule %s, and there are no data of this name", pkg, string(segment))
			return at(CodeType, ref[0].Location, "%s\n  %s has %s", didYouMean(message, string(segment), names), pkg,
				strings.Join(names, ", "))
		}
		node = next
	}
	return nil
}

func childNames(node *ast.TreeNode) (names []string) {
	for key := range node.Children {
		names = append(names, fieldName(ast.NewTerm(key)))
	}
	slices.Sort(names)
	return names
}

// dataNames are the names in the data below packages, on which noSuchRules depends.
func (p *parsed) dataNames() (names []string) {
	for _, f := range p.files {
		m, err := parseModule(f)
		if err != nil {
			continue // it has been parsed before
		}
		var data any = p.data
		for _, term := range m.Package.Path[1:] {
			object, _ := data.(map[string]any)
			data = object[fieldName(term)]
		}
		if object, ok := data.(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(object)) {
				names = append(names, m.Package.Path.String()+"."+name)
			}
		}
	}
	slices.Sort(names)
	return names
}
