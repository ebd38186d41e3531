package policy

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// parseWords are what OPA's parser says, and what a policy's author is told. What is found first counts.
var parseWords = []struct{ opa, ours string }{
	{"unexpected eof token", "the file ends before a {, [ or ( is closed"},
	{"non-terminated string", `a text begins here that has no closing quote; texts of several lines are in backquotes`},
	{"`if` keyword is required", "a rule's conditions follow the word if: violations contains {...} if { ... }"},
	{"`contains` keyword is required", "members of a set are written with the word contains: violations contains {...} if { ... }"},
	{"var cannot be used for rule name", "this is no rule: conditions that must all hold stand in { } on lines of their own, " +
		"and for either of two there are two rules; Rego has no and, or"},
	{"package expected", "a file begins with its package, a check's with package tiergate.checks.<area>.<name>"},
	{"else keyword cannot be used on multi-value rules", "else cannot follow a rule with contains; write a second rule instead"},
	{"yaml: mapping values are not allowed", "METADATA is not valid YAML: put a text that has a colon in it into quotes"},
	{"yaml: ", "METADATA is not valid YAML: "},
}

// ParseErrors gives the errors of OPA's parser and formatter the form and the words of Errors.
func ParseErrors(err error) Errors { return fromOPA(err, CodeParse) }

// parseErrors keeps one error for each line, since OPA's parser goes on after an error and finds what follows from it.
func parseErrors(list ast.Errors) (out Errors) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *ast.Error) int { return rowOf(a) - rowOf(b) })
	for i, e := range list {
		if i > 0 && (rowOf(e) == rowOf(list[i-1]) || e.Message == "unexpected eof token") {
			last := len(out) - 1
			if !moreOf(e, list[i-1]) || out[last].Row != rowOf(e) {
				continue
			}
			out = out[:last]
		}
		converted := at(CodeParse, e.Location, "%s", parseMessage(e))
		if e.Details != nil {
			converted.Message += "\n  " + strings.Join(e.Details.Lines(), "\n  ")
		}
		out = append(out, converted)
	}
	return out
}

func rowOf(e *ast.Error) int {
	if e.Location == nil {
		return 0
	}
	return e.Location.Row
}

// moreOf tells whether an error says the same as another one on its line, and what was expected.
func moreOf(e, other *ast.Error) bool {
	return rowOf(e) == rowOf(other) && e.Message != other.Message && strings.HasPrefix(e.Message, other.Message)
}

func parseMessage(e *ast.Error) string {
	for _, word := range parseWords {
		rest, found := strings.CutPrefix(e.Message, word.opa)
		switch {
		case found && strings.HasSuffix(word.ours, ": "):
			return word.ours + rest
		case found:
			return word.ours
		}
	}
	if e.Details == nil {
		return e.Message
	}
	line, message := e.Details.Lines()[0], strings.ReplaceAll(e.Message, `\n`, "a new line")
	switch {
	case e.Message == "illegal token" && strings.Contains(line, "'"):
		return `texts are in double quotes or backquotes, not in single quotes`
	case strings.Contains(line, "for "):
		return message + "; Rego has no for: write some x in xs, or every x in xs { ... }"
	}
	return message
}
