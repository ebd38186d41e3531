package vllm

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVLLMsParserAgrees compares with what the parser of vLLM 0.33.0 itself made of random arguments, recorded once:
// the settings and the transfer configuration, or only that it refused.
func TestVLLMsParserAgrees(t *testing.T) {
	recorded, err := os.ReadFile("testdata/parser.jsonl")
	require.NoError(t, err)
	for line := range strings.Lines(string(recorded)) {
		var tt struct {
			Args     []string        `json:"args"`
			Want     string          `json:"want"`
			Transfer json.RawMessage `json:"transfer"`
			Refused  bool            `json:"refused"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &tt))
		e := resolve(t, serve(tt.Args...))
		if tt.Refused {
			assert.NotEmpty(t, e.Refusals, line)
			continue
		}
		require.Empty(t, e.Refusals, line)
		if tt.Transfer != nil {
			require.Len(t, e.Transfer.Connectors, 1, line)
			assert.JSONEq(t, string(tt.Transfer), string(e.Transfer.Connectors[0].Config), line)
			e.Transfer.Connectors = nil
		}
		assert.Equal(t, tt.Want, summary(e), line)
	}
}
