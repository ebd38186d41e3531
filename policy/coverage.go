package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
)

// Coverage is how much of the rules the tests reach, in lines with a rule's head or an expression. It is what OPA's
// interpreter reaches; the WebAssembly that enforces has no lines, and each test must give the same in both.
type Coverage struct {
	// Percent is 100 where there is no line to cover.
	Percent float64        `json:"percent"`
	Covered int            `json:"covered_lines"`
	Lines   int            `json:"lines"`
	Files   []FileCoverage `json:"files"`
}

// FileCoverage is the coverage of one rule file.
type FileCoverage struct {
	File    string  `json:"file"`
	Percent float64 `json:"percent"`
	Covered int     `json:"covered_lines"`
	Lines   int     `json:"lines"`
	// NotReached are the lines that no test reaches, in order.
	NotReached []Gap `json:"not_reached"`
}

// Gap is lines of one rule, both ends included.
type Gap struct {
	Rule  string `json:"rule"`
	First int    `json:"first_line"`
	Last  int    `json:"last_line"`
}

// Lines is the first and the last line, or the one.
func (g Gap) Lines() string {
	if g.First == g.Last {
		return strconv.Itoa(g.First)
	}
	return fmt.Sprintf("%d-%d", g.First, g.Last)
}

// coverageOf reports on the rules under test: the user's own, or those that ship where there are none.
func (p *parsed) coverageOf(c *cover.Cover, shipped bool) (Coverage, error) {
	modules, err := p.modules()
	if err != nil {
		return Coverage{}, err
	}
	for _, f := range p.files {
		if f.builtIn != shipped || f.path == generatedFile || strings.HasSuffix(f.path, "_test.rego") {
			delete(modules, f.path)
		}
	}
	report := c.Report(modules)
	var out Coverage
	for _, name := range sortedModules(modules) {
		file := fileCoverage(modules[name], report.Files[name])
		out.Covered, out.Lines = out.Covered+file.Covered, out.Lines+file.Lines
		out.Files = append(out.Files, file)
	}
	out.Percent = percent(out.Covered, out.Lines)
	return out, nil
}

// fileCoverage counts a line that is reached in part as not reached, since something on it was never tried.
func fileCoverage(m *ast.Module, report *cover.FileReport) FileCoverage {
	out := FileCoverage{File: m.Package.Location.File, NotReached: []Gap{}}
	missed, reached := rowsOf(report.NotCovered), rowsOf(report.Covered)
	for _, rule := range m.Rules {
		if isConstant(rule) {
			delete(missed, rule.Location.Row)
		}
	}
	for row := range missed {
		delete(reached, row)
	}
	out.Covered, out.Lines = len(reached), len(reached)+len(missed)
	out.Percent = percent(out.Covered, out.Lines)
	for _, row := range slices.Sorted(maps.Keys(missed)) {
		rule := ruleAt(m, row)
		if n := len(out.NotReached); n > 0 && out.NotReached[n-1].Rule == rule && out.NotReached[n-1].Last == row-1 {
			out.NotReached[n-1].Last = row
			continue
		}
		out.NotReached = append(out.NotReached, Gap{Rule: rule, First: row, Last: row})
	}
	return out
}

// rowsOf are the rows on which ranges begin: the others of a long expression are no lines of their own.
func rowsOf(ranges []cover.Range) map[int]bool {
	rows := map[int]bool{}
	for _, r := range ranges {
		rows[r.Start.Row] = true
	}
	return rows
}

// isConstant tells the rules that have nothing a test could try, such as applies := true.
func isConstant(r *ast.Rule) bool {
	return r.Head.Key == nil && r.Head.Value != nil && r.Head.Value.IsGround() && len(r.Head.Args) == 0 &&
		len(r.Body) == 1 && r.Body[0].Equal(ast.NewExpr(ast.BooleanTerm(true)))
}

// ruleAt names the rule that a row belongs to.
func ruleAt(m *ast.Module, row int) (name string) {
	for _, rule := range m.Rules {
		if rule.Location.Row <= row {
			name = fieldName(rule.Head.Ref()[0])
		}
	}
	return name
}

func percent(part, whole int) float64 {
	if whole == 0 {
		return 100
	}
	return 100 * float64(part) / float64(whole)
}
