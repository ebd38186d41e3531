package policy

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// recursion says once which rules need each other. A check that reads the verdict is part of a circle of rules that its
// author has not written and never sees.
func recursion(list ast.Errors) (out Errors, rest ast.Errors) {
	seen := map[string]bool{}
	for _, e := range list {
		_, circle, isRecursion := strings.Cut(e.Message, " is recursive: ")
		if !isRecursion {
			rest = append(rest, e)
			continue
		}
		path := strings.Split(strings.ReplaceAll(circle, "data.", ""), " -> ")
		check, through, viaVerdict := throughVerdict(path)
		switch {
		case viaVerdict && strings.HasPrefix(path[0], check):
			out = append(out, at(CodeType, e.Location,
				"check %s reads %s, which is made from the results of all checks, this one among them; a check can read facts, data "+
					"and the rules of libraries", strings.TrimPrefix(check, "tiergate.checks."), through))
		case viaVerdict:
		case !seen[members(path)]:
			seen[members(path)] = true
			out = append(out, at(CodeType, e.Location, "%s needs itself: %s", path[0], strings.Join(path, " -> ")))
		}
	}
	return out, rest
}

// throughVerdict finds the check in a circle, and what it reads that leads back to it.
func throughVerdict(path []string) (check, through string, found bool) {
	for i, name := range path {
		if !strings.HasPrefix(name, "tiergate.checks.") {
			continue
		}
		parts := strings.Split(name, ".")
		for _, other := range path {
			if strings.HasPrefix(other, "tiergate.generated.") {
				next := path[1]
				if i > 0 {
					next = path[(i+1)%len(path)]
				}
				return strings.Join(parts[:min(4, len(parts))], "."), next, true
			}
		}
	}
	return "", "", false
}

func members(path []string) string {
	least := 0
	circle := path[:len(path)-1]
	for i := range circle {
		if circle[i] < circle[least] {
			least = i
		}
	}
	return strings.Join(slices.Concat(circle[least:], circle[:least]), " ")
}
