package document_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/topology/document"
)

func TestYAMLValues(t *testing.T) {
	for _, test := range []struct{ name, yaml, json string }{
		{"numbers that JSON spells alike", "[1, -2, 1.50, 1e3, 99999999999999999999, 1e999]", `[1,-2,1.50,1e3,99999999999999999999,1e999]`},
		{
			"numbers that only YAML has", "[0x1F, 0o17, 017, 0b11, +5, 1_000, .5, 2., 0xFFFFFFFFFFFFFFFF]",
			`[31,15,15,3,5,1000,0.5,2,18446744073709551615]`,
		},
		{"booleans", "[true, False, TRUE]", `[true,false,true]`},
		{"words of YAML 1.1 are strings", "[yes, no, on, off, y]", `["yes","no","on","off","y"]`},
		{"null", "[null, ~, ]", `[null,null]`},
		{"quotes make strings", `["1", '2', "true", '~']`, `["1","2","true","~"]`},
		{"what looks like a date is a string", "[2026-12-01, 0:27]", `["2026-12-01","0:27"]`},
		{"tags choose a type", "[!!str 1, !!int '2', !!float 3, !!bool 'true', !!null '']", `["1",2,3,true,null]`},
		{"whole numbers and booleans as keys", "{8080: a, true: b}", `{"8080":"a","true":"b"}`},
		{"block scalars", "a: |\n  x\n  y\nb: >-\n  x\n  y\n", `{"a":"x\ny\n","b":"x y"}`},
		{"aliases", "a: &x {k: &y [1]}\nb: *x\nc: *y\n", `{"a":{"k":[1]},"b":{"k":[1]},"c":[1]}`},
		{"aliased key", "a: &x k\n*x : 1\n", `{"a":"k","k":1}`},
		{
			"merge: own keys win, earlier mappings win", "a: &a {k: 1, m: 1}\nb: &b {m: 2, n: 2}\nc: {k: 0, <<: [*a, *b]}\nd: {<<: *b}\n",
			`{"a":{"k":1,"m":1},"b":{"m":2,"n":2},"c":{"k":0,"m":1,"n":2},"d":{"m":2,"n":2}}`,
		},
		{"a quoted merge key is a key", `{"<<": 1}`, `{"<<":1}`},
		{"an alias may be used again after its anchor is closed", "[&a [1], *a, *a]", `[[1],[1],[1]]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, err := document.FromYAML([]byte(test.yaml))
			require.NoError(t, err)
			assert.Equal(t, test.json, string(text.JSON))
		})
	}
}

func TestLaunchRefusesYAML(t *testing.T) {
	for _, test := range []refusal{
		{
			"unknown field", "engine:\n  nnodes: 2\n  kvTransfer: {}\n", document.CodeUnknownField, "kv_transfer",
			`line 3: /engine/kvTransfer: unknown field "kvTransfer"; did you mean "kv_transfer"?`,
		},
		{
			"unknown field behind a list", "engine: {nnodes: 2}\nnodes:\n- id: a\n- id: b\n- id: c\n  memory:\n    limit: 1\n",
			document.CodeUnknownField, "",
			`line 7: /nodes/2/memory/limit: unknown field "limit"; allowed here: limit_bytes`,
		},
		{
			"key given twice", "engine:\n  nnodes: 2\n  executor: mp\n  nnodes: 1\n", document.CodeDuplicateKey, "",
			`line 4: /engine/nnodes: key "nnodes" is given twice, first on line 2; keep one`,
		},
		{
			"key given twice by its text", "engine: {env: {1: a, '1': b}}", document.CodeDuplicateKey, "",
			`line 1: /engine/env/1: key "1" is given twice, first on line 1; keep one`,
		},
		{
			"version that looks like a number", "engine:\n  version: 0.33\n", document.CodeInvalidType, "",
			`line 2: /engine/version: got a number; want a string in quotes`,
		},
		{
			"null variable", "engine:\n  nnodes: 1\n  env:\n    TP:\n", document.CodeInvalidType, "",
			`line 4: /engine/env/TP: null as a variable's value; leave it out, or write ""`,
		},
		{
			"worker without node", "engine: {nnodes: 2}\nworkers:\n- {rank: 0, node: a}\n- rank: 1\n", document.CodeMissingField, "",
			`line 4: /workers/1: worker of rank 1 has no node; name the node that it runs on, ` +
				`or leave workers out where the placement is not known`,
		},
		{
			"infinity", "engine: {nnodes: .inf}", document.CodeInvalidType, "",
			`line 1: /engine/nnodes: ".inf" is not a number that JSON has; infinities and NaN have no meaning here`,
		},
		{
			"not a number", "engine: {nnodes: .NaN}", document.CodeInvalidType, "",
			`line 1: /engine/nnodes: ".NaN" is not a number that JSON has; infinities and NaN have no meaning here`,
		},
		{
			"number in name only", "engine: {nnodes: !!int two}", document.CodeInvalidType, "",
			`line 1: /engine/nnodes: "two" is not a number that JSON has; infinities and NaN have no meaning here`,
		},
		{
			"boolean in name only", "engine: {nnodes: !!bool 1}", document.CodeInvalidType, "",
			`line 1: /engine/nnodes: "1" is not a boolean; write true or false`,
		},
		{
			"binary", "engine:\n  id: !!binary aGk=\n", document.CodeUnsupported, "",
			`line 2: /engine/id: tag "!!binary" is not supported; write the value as text, number, true, false or null`,
		},
		{
			"own tag", "engine: {id: !Ref a}", document.CodeUnsupported, "",
			`line 1: /engine/id: tag "!Ref" is not supported; write the value as text, number, true, false or null`,
		},
		{
			"list as a key", "engine:\n  ? [a]\n  : b\n", document.CodeInvalidType, "",
			`line 2: /engine: a key of type !!seq; keys are strings, put it in quotes`,
		},
		{
			"null as a key", "engine: {~: b}", document.CodeInvalidType, "",
			`line 1: /engine: a key of type !!null; keys are strings, put it in quotes`,
		},
		{
			"merge of a scalar", "engine:\n  <<: a\n", document.CodeInvalidType, "",
			`line 2: /engine/<<: the merge key << wants a mapping or a list of mappings, got a scalar`,
		},
		{
			"two documents", "engine: {nnodes: 1}\n---\nengine: {nnodes: 2}\n", document.CodeSeveralDocuments, "",
			`line 2: a second document starts here; send one document at a time`,
		},
		{"no document", "# nothing\n", document.CodeEmpty, "", `the document is empty; send a launch with at least an engine`},
		{
			"null document", "---\n", document.CodeMissingField, "",
			`line 2: /engine: engine is missing or empty; give its command, or fields such as parallel, executor and kv_transfer`,
		},
		{
			"open bracket", "engine:\n  command: [vllm\n", document.CodeInvalidSyntax, "",
			`line 2: not valid YAML: did not find expected ',' or ']'`,
		},
		{
			"tab", "engine:\n\tnnodes: 1\n", document.CodeInvalidSyntax, "",
			`line 2: not valid YAML: found character that cannot start any token`,
		},
		{
			"alias without anchor", "engine:\n  id: a\n  nnodes: *n\n", document.CodeInvalidSyntax, "",
			`line 3: not valid YAML: unknown anchor 'n' referenced`,
		},
		{
			"control character", "engine: {id: \x01}", document.CodeInvalidSyntax, "",
			`not valid YAML: control characters are not allowed`,
		},
		{
			"bytes that are no UTF-8", "engine:\n  id: é\xff\n", document.CodeInvalidUTF8, "",
			`line 2: byte 16 is not valid UTF-8; encode the document as UTF-8`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := document.Launch([]byte(test.document), "application/yaml")
			test.check(t, err)
		})
	}
}

func TestExtractIgnoresWhatItDoesNotKnow(t *testing.T) {
	text, err := document.Part{Data: []byte("kind: Pod\nspec:\n  nodeName: a\n"), Line: 11}.Text()
	require.NoError(t, err)
	var object struct {
		Kind string `json:"kind"`
		Spec struct {
			NodeName int `json:"nodeName"`
		} `json:"spec"`
	}
	err = text.Extract(&object)
	require.EqualError(t, err, "line 13: /spec/nodeName: got a string; want a whole number")
	assert.Equal(t, "Pod", object.Kind)

	var kind struct {
		Kind string `json:"kind"`
	}
	require.NoError(t, text.Extract(&kind))
	assert.Equal(t, "Pod", kind.Kind)
}

func TestLineOf(t *testing.T) {
	text, err := document.FromYAML([]byte("a:\n  - b: 1\n\n  - c:\n     d/e: 2\nf: 3\n"))
	require.NoError(t, err)
	for pointer, line := range map[string]int{
		"": 1, "/a": 1, "/a/0": 2, "/a/0/b": 2, "/a/1": 4, "/a/1/c/d~1e": 5, "/f": 6, "/a/9": 1, "/a/x": 1, "/f/x": 6,
	} {
		assert.Equal(t, line, text.LineOf(pointer), "pointer %q", pointer)
	}
}

func TestPartErrorsHaveTheLinesOfTheFile(t *testing.T) {
	parts := document.Split([]byte("kind: A\n---\nkind: B\nb: [\n"))
	require.Len(t, parts, 2)
	_, err := parts[1].Launch()
	require.EqualError(t, err, "line 4: not valid YAML: did not find expected node content")
}

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		name, file string
		parts      []string
		lines      []int
	}{
		{"one document", "a: 1\n", []string{"a: 1\n"}, []int{1}},
		{"no newline at the end", "a: 1\n---\nb: 2", []string{"a: 1\n", "---\nb: 2"}, []int{1, 2}},
		{"content beside the marker", "--- {a: 1}\n--- # two\nb: 2\n", []string{"--- {a: 1}\n", "--- # two\nb: 2\n"}, []int{1, 2}},
		{"empty documents", "---\n# only this\n---\na: 1\n---\n---\n\n", []string{"---\na: 1\n"}, []int{3}},
		{
			"comments and directives in front", "# c\n%YAML 1.2\n---\na: 1\n...\n---\nb: 2\n",
			[]string{"# c\n%YAML 1.2\n---\na: 1\n...\n", "---\nb: 2\n"},
			[]int{1, 6},
		},
		{"no marker: indented, longer, or in a word", "a: |\n  ---\nb---: 1\n---c: 2\n", []string{"a: |\n  ---\nb---: 1\n---c: 2\n"}, []int{1}},
		{"lines ended as on Windows", "a: 1\r\n---\r\nb: 2\r\n", []string{"a: 1\r\n", "---\r\nb: 2\r\n"}, []int{1, 2}},
		{"nothing", "", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var parts []string
			var lines []int
			for _, part := range document.Split([]byte(test.file)) {
				parts, lines = append(parts, string(part.Data)), append(lines, part.Line)
			}
			assert.Equal(t, test.parts, parts)
			assert.Equal(t, test.lines, lines)
			assert.LessOrEqual(t, len(strings.Join(parts, "")), len(test.file))
		})
	}
}
