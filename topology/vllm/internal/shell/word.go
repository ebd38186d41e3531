package shell

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Words are expanded in two steps. The first rewrites a word so that nothing is left in it that would need a process,
// a file or a guess: such parts become marks. The second hands the rest to the expander of mvdan.cc/sh, which then
// works on values alone.

// maxArguments bounds what the words of one command may expand to. Bytes.
const maxArguments = 256 << 10

// fields expands words into arguments.
func (in *interpreter) fields(words []*syntax.Word, s *scope) []string {
	var out []string
	size := 0
	for _, word := range words {
		safe := in.rewrite(word, s, true)
		if braces(safe) > maxBraces {
			out = append(out, in.opaque(word, "has more braces than are worked out", true))
			continue
		}
		for field, err := range expand.FieldsSeq(&expand.Config{Env: s}, safe) {
			if size += len(field) + 1; err == nil && size > maxArguments {
				err = errors.New("it gives more than a command may take")
			}
			if err != nil {
				out = append(out, in.opaque(word, "cannot be expanded: "+err.Error(), true))
				break
			}
			out = append(out, field)
		}
	}
	return out
}

// maxBraces bounds the brace expansions in a word, each of which multiplies the work.
const maxBraces = 4

// braces counts the brace expansions in a word.
func braces(word *syntax.Word) int {
	split := *word
	if !syntax.SplitBraces(&split) {
		return 0
	}
	count := 0
	for _, part := range split.Parts {
		if brace, ok := part.(*syntax.BraceExp); ok {
			count++
			for _, element := range brace.Elems {
				count += braces(element)
			}
		}
	}
	return count
}

// literal expands a word into one text, as in an assignment.
func (in *interpreter) literal(word *syntax.Word, s *scope) string {
	if word == nil {
		return ""
	}
	value, err := expand.Literal(&expand.Config{Env: s}, in.rewrite(word, s, false))
	if err != nil {
		return in.opaque(word, "cannot be expanded: "+err.Error(), false)
	}
	return settle(value, false)
}

// opaque is a mark for a node of the script.
func (in *interpreter) opaque(node syntax.Node, reason string, splits bool) string {
	source := in.source(node)
	return in.unknowns.mark(source, source+" "+reason, splits)
}

// source writes a node as it stands in the script, on one short line.
func (in *interpreter) source(node syntax.Node) string {
	source, known := in.sources[node]
	if !known {
		var out strings.Builder
		if err := syntax.NewPrinter().Print(&out, node); err != nil {
			out.WriteString("an expression")
		}
		source = shorten(in.unknowns.Reveal(out.String()))
		in.sources[node] = source
	}
	return source
}

// rewriter rewrites the parts of one word.
type rewriter struct {
	*interpreter
	scope *scope
	// splits tells that the shell splits unquoted values and matches file names, as it does not in an assignment.
	splits bool
	// length is what the variables in the word add up to.
	length int
}

func (in *interpreter) rewrite(word *syntax.Word, s *scope, splits bool) *syntax.Word {
	if word.Lit() == "[" { // the command, which is no pattern
		return word
	}
	r := &rewriter{interpreter: in, scope: s, splits: splits}
	return &syntax.Word{Parts: r.parts(word.Parts, false)}
}

func (r *rewriter) parts(parts []syntax.WordPart, quoted bool) []syntax.WordPart {
	out := make([]syntax.WordPart, len(parts))
	for i, part := range parts {
		out[i] = r.part(part, quoted, i == 0)
	}
	return out
}

func (r *rewriter) part(part syntax.WordPart, quoted, first bool) syntax.WordPart {
	switch part := part.(type) {
	case *syntax.Lit:
		return r.lit(part, quoted, first)
	case *syntax.SglQuoted:
		return &syntax.SglQuoted{Dollar: part.Dollar, Value: settle(part.Value, false)}
	case *syntax.DblQuoted:
		return &syntax.DblQuoted{Dollar: part.Dollar, Parts: r.parts(part.Parts, true)}
	case *syntax.ParamExp:
		return r.param(part, quoted)
	case *syntax.ArithmExp:
		value, reason := r.arithmetic(part.X, r.scope)
		if reason != "" {
			return r.mark(part, "cannot be computed: "+reason, false)
		}
		return &syntax.Lit{Value: value}
	case *syntax.CmdSubst:
		return r.mark(part, "is a command substitution, and nothing is executed to learn its output", !quoted)
	default:
		return r.mark(part, "is known only when the script runs", !quoted)
	}
}

// mark puts an unknown text in the place of a part. The reason continues the part's source.
func (r *rewriter) mark(part syntax.Node, reason string, splits bool) *syntax.Lit {
	return &syntax.Lit{Value: r.opaque(part, reason, splits && r.splits)}
}

// lit keeps the text of a part. Unquoted, it may name files or a home directory, which are not looked up.
func (r *rewriter) lit(part *syntax.Lit, quoted, first bool) *syntax.Lit {
	value := settle(part.Value, !quoted && r.splits)
	switch {
	case quoted:
	case first && strings.HasPrefix(value, "~"):
		value = r.opaque(part, "is a home directory, which is not looked up", false)
	case r.splits && isGlob(value):
		value += r.opaque(part, "matches file names, which are not looked up; quote it", true)
	}
	return &syntax.Lit{Value: value}
}

// isGlob tells whether unquoted text may match file names.
func isGlob(text string) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}
