package document_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology/document"
)

const reportJSON = `{"protocol": "1.0", "incarnation": "7d0f4a1be2c34c5f9a8b7c6d5e4f3a2b", "world_size": 2, "groups": {"tp": [0, 1]},
	"configuration": {"parallel": {"tensor": 2}, "kv_transfer": {"kv_role": null, "sizes": [1e3, 10]}},
	"facts": {"node": "gpu-a", "uid": 0, "shm": {"device": "0:27", "stale_regions": [{"name": "vllm_offload_a", "bytes": 1}]}},
	"deadline_ms": 60000}`

const reportYAML = `
protocol: "1.0"
incarnation: 7d0f4a1be2c34c5f9a8b7c6d5e4f3a2b
world_size: 2
groups: {tp: [0, 1]}
configuration: {parallel: {tensor: 2}, kv_transfer: {kv_role: null, sizes: [1e3, 10]}}
facts: {node: gpu-a, uid: 0, shm: {device: "0:27", stale_regions: [{name: vllm_offload_a, bytes: 1}]}}
deadline_ms: 60000
`

func TestReport(t *testing.T) {
	fromJSON, ignored, err := document.Report([]byte(reportJSON), "")
	require.NoError(t, err)
	assert.Empty(t, ignored)
	assert.Equal(t, []int64{0, 1}, fromJSON.Groups["tp"])
	assert.EqualValues(t, 0, *fromJSON.Facts.UID)
	assert.JSONEq(t, `{"kv_role": null, "sizes": [1e3, 10]}`, string(fromJSON.Configuration.KVTransfer))
	fromYAML, _, err := document.Report([]byte(reportYAML), "application/yaml")
	require.NoError(t, err)
	want, err := json.Marshal(fromJSON)
	require.NoError(t, err)
	got, err := json.Marshal(fromYAML)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(got))
}

// What is kept of a document must not change when its bytes are used again.
func TestReportKeepsNothingOfItsBytes(t *testing.T) {
	data := []byte(reportJSON)
	report, _, err := document.Report(data, "")
	require.NoError(t, err)
	for i := range data {
		data[i] = 'x'
	}
	assert.JSONEq(t, `{"kv_role": null, "sizes": [1e3, 10]}`, string(report.Configuration.KVTransfer))
	assert.Equal(t, "gpu-a", report.Facts.Node)
}

// A newer minor version may say more, anywhere except in what is taken verbatim.
func TestNewerMinorVersions(t *testing.T) {
	newer := strings.NewReplacer(
		`"1.0"`, `"1.12"`, `"world_size"`, `"mood": {"of": ["many"]}, "world_size"`, `"uid"`, `"a/b~c": 1, "uid"`,
		`"bytes"`, `"age": 3, "bytes"`, `"kv_role"`, `"any": 1, "kv_role"`, `"tp"`, `"new_kind": [0], "tp"`,
	).Replace(reportJSON)
	report, ignored, err := document.Report([]byte(newer), "")
	require.NoError(t, err)
	assert.Equal(t, []string{"/mood", "/facts/a~1b~0c", "/facts/shm/stale_regions/0/age"}, ignored)
	assert.EqualValues(t, 2, report.WorldSize)
	assert.Contains(t, report.Groups, "new_kind", "groups have names of their own")

	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, `"new_%d": 1, `, i)
	}
	text := strings.NewReplacer(`"1.0"`, `"1.1"`, `"world_size"`, many.String()+`"world_size"`).Replace(reportJSON)
	_, ignored, err = document.Report([]byte(text), "")
	require.NoError(t, err)
	assert.Len(t, ignored, 16)

	const probe = `{"protocol": "1.1", "answers": [{"kind": "tp", "took": 3}, {"error": {"errno": "EIO", "seen": 1}}]}`
	_, ignored, err = document.Probe([]byte(probe), "")
	require.NoError(t, err)
	assert.Equal(t, []string{"/answers/0/took", "/answers/1/error/seen"}, ignored)
}

func TestReportsThatAreRefused(t *testing.T) {
	with := func(from, to string) string { return strings.Replace(reportJSON, from, to, 1) }
	newer := func(from, to string) string { return strings.Replace(with(`"1.0"`, `"1.1"`), from, to, 1) }
	for _, test := range []struct{ name, text, code, pointer string }{
		{"empty", " ", document.CodeEmpty, ""},
		{"a list", "[]", document.CodeInvalidType, ""},
		{"no protocol", `{"world_size": 2}`, document.CodeMissingField, "/protocol"},
		{"null", "null", document.CodeMissingField, "/protocol"},
		{"no protocol but null", with(`"1.0"`, `null`), document.CodeMissingField, "/protocol"},
		{"no version", with(`"1.0"`, `"1"`), document.CodeInvalidValue, "/protocol"},
		{"a sign in the version", with(`"1.0"`, `"1.-1"`), document.CodeInvalidValue, "/protocol"},
		{"a version that is a number", with(`"1.0"`, `1.0`), document.CodeInvalidType, "/protocol"},
		{"another major version", `{"new": [1], "protocol": "2.0", "world_size": "two"`, v1.CodeProtocol, "/protocol"},
		{"an older major version", with(`"1.0"`, `"0.9"`), v1.CodeProtocol, "/protocol"},
		{"two protocols", with(`{`, `{"protocol": "1.9", `), document.CodeDuplicateKey, "/protocol"},
		{"unknown field", with(`"uid"`, `"user"`), document.CodeUnknownField, "/facts/user"},
		{
			"unknown field of a newer version, of a wrong type", newer(`"uid": 0`, `"uid": "root"`),
			document.CodeInvalidType, "/facts/uid",
		},
		{
			"duplicate key of a newer version", newer(`"uid": 0`, `"a": {"b": 1, "b": 2}`),
			document.CodeDuplicateKey, "/facts/a/b",
		},
		{"null in a list", with(`[0, 1]`, `[0, null]`), document.CodeInvalidType, "/groups/tp/1"},
		{"too deep", with(`[1e3, 10]`, strings.Repeat("[", 99)+strings.Repeat("]", 99)), document.CodeTooDeep, "/configuration/kv_transfer"},
		{"too large", with(`gpu-a`, strings.Repeat("a", document.MaxReportBytes)), document.CodeTooLarge, ""},
		{"cut off", reportJSON[:len(reportJSON)-1], document.CodeInvalidSyntax, ""},
	} {
		report, _, err := document.Report([]byte(test.text), "application/json")
		assert.Nil(t, report, test.name)
		var problem *document.Error
		require.ErrorAs(t, err, &problem, test.name)
		assert.Equal(t, test.code, problem.Code, "%s: %s", test.name, err)
		assert.Equal(t, test.pointer, problem.Pointer, "%s: %s", test.name, err)
	}
	_, _, err := document.Core([]byte("protocol: '1.0'\nfacts: {nod: a}\n"), "text/yaml")
	assert.EqualError(t, err, `line 2: /facts/nod: unknown field "nod"; did you mean "node"?`)
}

// FuzzReport: never a panic, only typed and short errors, and what was read reads the same when it is written again.
func FuzzReport(f *testing.F) {
	f.Add([]byte(reportJSON), false)
	f.Add([]byte(reportYAML), true)
	f.Add([]byte(strings.Replace(reportJSON, "1.0", "1.7", 1)), false)
	f.Add([]byte(`{"protocol":"1.9","a":[{"b":{}}],"facts":{"x":null},"segment":{"error":{"q":[[]]}}}`), false)
	f.Add([]byte("protocol: '1.1'\nfacts: &a {b: 1}\nconfiguration: {<<: *a}"), true)
	f.Fuzz(func(t *testing.T, data []byte, yaml bool) {
		mediaType := ""
		if yaml {
			mediaType = "application/yaml"
		}
		report, ignored, err := document.Report(data, mediaType)
		requireTyped(t, err)
		_, _, probeErr := document.Probe(data, mediaType)
		requireTyped(t, probeErr)
		if err != nil {
			return
		}
		assert.LessOrEqual(t, len(ignored), 16)
		again, err := json.Marshal(report)
		require.NoError(t, err)
		if len(again) > document.MaxReportBytes {
			return
		}
		second, ignored, err := document.Report(again, "")
		require.NoError(t, err)
		assert.Empty(t, ignored)
		requireSameJSON(t, again, second)
	})
}
