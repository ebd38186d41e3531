package document

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxYAMLBytes is the largest YAML document that is read. The parser takes 200 bytes of memory for a byte of text, and
// launches of more than a few thousand workers are written by programs, which can as well write JSON.
const MaxYAMLBytes = 1 << 20

// maxTagDirectives bounds what the parser looks up for every tag, in quadratic time. Documents have none.
const maxTagDirectives = 16

// FromYAML rewrites one YAML document as JSON text. Plain numbers, booleans and null are what YAML's core schema says,
// everything else is a string. Aliases and merge keys (<<) are expanded, up to a limit that real documents do not come
// near. Refused are keys given twice, keys that are neither string, whole number nor boolean, numbers that JSON does
// not have, tags other than YAML's own for scalars, and more than one document. Every error is an *Error.
func FromYAML(data []byte) (Text, error) {
	return Part{Data: data, Line: 1}.Text()
}

func rewrite(data []byte) (Text, *Error) {
	if len(data) > MaxYAMLBytes {
		return Text{}, tooLarge(len(data), MaxYAMLBytes, " as YAML; send JSON")
	}
	if !utf8.Valid(data) {
		return Text{}, invalidUTF8(data)
	}
	if bytes.Count(data, []byte("%TAG")) > maxTagDirectives {
		return Text{}, errorf(CodeUnsupported, "", "more than %d %%TAG directives; leave them out", maxTagDirectives)
	}
	root, problem := parse(data)
	if problem != nil {
		return Text{}, problem
	}
	writer := &writer{out: make([]byte, 0, len(data)+len(data)/2)}
	if problem := writer.value(root); problem != nil {
		return Text{}, problem
	}
	return Text{JSON: writer.out, marks: writer.marks}, nil
}

func invalidUTF8(data []byte) *Error {
	offset := 0
	for offset < len(data) {
		r, size := utf8.DecodeRune(data[offset:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		offset += size
	}
	problem := errorf(CodeInvalidUTF8, "", "byte %d is not valid UTF-8; encode the document as UTF-8", offset)
	problem.Line = 1 + bytes.Count(data[:offset], []byte("\n"))
	return problem
}

// parse returns the root of the only document.
func parse(data []byte) (*yaml.Node, *Error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return nil, parseError(err, data)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		problem := errorf(CodeSeveralDocuments, "", "a second document starts here; send one document at a time")
		problem.Line = second.Line
		return nil, problem
	case !errors.Is(err, io.EOF):
		return nil, parseError(err, data)
	}
	return document.Content[0], nil
}

var (
	parserText = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)
	// countsFromZero matches the errors whose line the parser counts from 0; it leaves out a line of 0.
	countsFromZero = regexp.MustCompile(`^did not find expected (<|node|'|key)|^found (duplicate|incompatible|undefined)`)
	unknownAnchor  = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
)

// parseError takes the line out of the text of the parser's error, which is the only place that has it.
func parseError(err error, data []byte) *Error {
	if errors.Is(err, io.EOF) {
		return errorf(CodeEmpty, "", "the document is empty; send a launch with at least an engine")
	}
	match := parserText.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	if match == nil {
		return errorf(CodeInvalidSyntax, "", "not valid YAML: %v", err)
	}
	line, _ := strconv.Atoi(match[1])
	if line == 0 || countsFromZero.MatchString(match[2]) {
		line++
	}
	if strings.HasPrefix(match[2], "control characters") {
		line = 0
	}
	code := CodeInvalidSyntax
	if strings.HasPrefix(match[2], "exceeded max depth") {
		code = CodeTooDeep
	}
	if anchor := unknownAnchor.FindStringSubmatch(match[2]); anchor != nil {
		before, _, _ := bytes.Cut(data, []byte("*"+anchor[1]))
		line = 1 + bytes.Count(before, []byte("\n"))
	}
	problem := errorf(code, "", "not valid YAML: %s", match[2])
	// At the end of the document the parser may already count a line that is not there.
	problem.Line = min(line, 1+bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")))
	return problem
}
