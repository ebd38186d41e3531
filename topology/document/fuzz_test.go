package document_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/topology/document"
)

// FuzzLaunch holds the decoder to three promises: it never panics, all its errors are typed and short, and a launch
// means the same whether it is written as JSON or as YAML.
func FuzzLaunch(f *testing.F) {
	f.Add([]byte(twoSparksJSON))
	f.Add([]byte(twoSparksYAML))
	f.Add([]byte(`{"engine":{"env":{"A":"\u0000 \ud83d\ude00 <<","<<":"~"},"kv_transfer":{"a":[1e999,-0,0.10,null,true]}}}`))
	f.Add([]byte("engine: &e {nnodes: 017, env: &v {A: 2026-12-01, <<: {B: no}}}\ncore: {node: *n}\nx: !!binary aGk="))
	f.Add([]byte("engine:\n  command: [a, ~, |\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fromYAML, err := document.Launch(data, "application/yaml")
		requireTyped(t, err)
		if err == nil {
			again, err := json.Marshal(fromYAML)
			require.NoError(t, err)
			fromJSON, err := document.Launch(again, "application/json")
			require.NoError(t, err)
			requireSameJSON(t, again, fromJSON)
		}
		fromJSON, err := document.Launch(data, "application/json")
		requireTyped(t, err)
		if err == nil {
			again, err := json.Marshal(fromJSON)
			require.NoError(t, err)
			if len(again) > document.MaxYAMLBytes || strings.ContainsFunc(string(again), notInYAML) {
				return
			}
			fromYAML, err := document.Launch(again, "application/yaml")
			require.NoError(t, err)
			requireSameJSON(t, again, fromYAML)
		}
	})
}

func requireTyped(t *testing.T, err error) {
	if err != nil {
		var problem *document.Error
		require.ErrorAs(t, err, &problem)
		assert.NotEmpty(t, problem.Code)
		assert.NotEmpty(t, problem.Detail)
		assert.Less(t, len(problem.Error()), 1000)
	}
}

func requireSameJSON(t *testing.T, want []byte, launch any) {
	got, err := json.Marshal(launch)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// notInYAML matches what JSON allows in a string and YAML does not, or takes for a line break.
func notInYAML(r rune) bool {
	return unicode.IsControl(r) || r == '\ufeff' || r == '\ufffe' || r == '\uffff'
}
