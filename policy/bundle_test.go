package policy

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestBundleIsWhatTheEngineDecidesBy(t *testing.T) {
	sources := []Source{{Name: "../site", FS: fstest.MapFS{"lib.rego": {Data: []byte("package site.lib\n\nanswer := 42\n")}}}}
	data := []byte(`{"settings": {"enforcement": {"capacity.shm": "warn"}}}`)
	var written bytes.Buffer
	revision, err := WriteBundle(t.Context(), &written, sources, data, "")
	require.NoError(t, err)

	engine, err := New(t.Context(), Options{Sources: sources, Data: data})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, engine.Close(t.Context())) })
	info, err := engine.Info()
	require.NoError(t, err)
	assert.Equal(t, info.Revision, revision)

	read, err := bundle.NewReader(bytes.NewReader(written.Bytes())).Read()
	require.NoError(t, err)
	assert.Equal(t, revision, read.Manifest.Revision)
	require.Len(t, read.WasmModules, 1)
	assert.Equal(t, bundleWasm, read.WasmModules[0].Path)
	var files []string
	for _, m := range read.Modules {
		files = append(files, m.Path)
	}
	assert.Contains(t, files, "/site/lib.rego", "no path leads out of the bundle")
	assert.Contains(t, files, "/rego/verdict.rego")

	// OPA's own interpreter comes to the same checks.
	zero := int64(0)
	launch := &v1.Launch{Engine: v1.Engine{Parallel: &v1.Parallel{Tensor: &zero}}}
	facts, err := engine.Facts(launch)
	require.NoError(t, err)
	decision, err := engine.Decide(t.Context(), launch)
	require.NoError(t, err)
	assert.Equal(t, v1.Deny, decision.Outcome)
	var input any
	require.NoError(t, json.Unmarshal(facts, &input))
	results, err := rego.New(rego.ParsedBundle("b", &read), rego.Input(input), rego.Query("data.tiergate.verdict.checks")).
		Eval(t.Context())
	require.NoError(t, err)
	require.Len(t, results, 1)
	checks, err := json.Marshal(results[0].Expressions[0].Value)
	require.NoError(t, err)
	var verdict struct{ Checks json.RawMessage }
	require.NoError(t, json.Unmarshal(decision.JSON, &verdict))
	assert.JSONEq(t, string(verdict.Checks), string(checks))
}
