package output

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// TestNodeFacts prints the facts of testdata/facts in the formats that each archive wants.
func TestNodeFacts(t *testing.T) {
	formats := map[string]struct {
		format string
		style  Style
	}{
		"want":        {Text, Style{Width: 100}},
		"want-narrow": {Text, Style{Width: 80}},
		"want-colour": {Text, Style{Width: 100, Colour: true}},
		"want.json":   {JSON, Style{}},
		"want.yaml":   {YAML, Style{}},
	}
	files, err := filepath.Glob("testdata/facts/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			require.Greater(t, len(archive.Files), 1)
			var facts v1.NodeFacts
			require.NoError(t, json.Unmarshal(archive.Files[0].Data, &facts))
			for i := range archive.Files[1:] {
				wanted := &archive.Files[i+1]
				f, known := formats[wanted.Name]
				require.True(t, known, wanted.Name)
				var got bytes.Buffer
				require.NoError(t, NodeFacts(&got, f.format, f.style, &facts))
				shown := strings.ReplaceAll(got.String(), "\x1b", "ESC")
				if *update {
					wanted.Data = []byte(shown)
				}
				assert.Equal(t, string(wanted.Data), shown, wanted.Name)
			}
			if *update {
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
			}
		})
	}
}

// A text that another reader takes for a number or a truth value keeps its quotes.
func TestYAMLForOlderReaders(t *testing.T) {
	var got bytes.Buffer
	require.NoError(t, WriteDocuments(&got, YAML, []any{[]string{"0:27", "254:0", "no", "ON", "y", "none", "1:77", "a:1"}}))
	assert.Equal(t, "- \"0:27\"\n- \"254:0\"\n- \"no\"\n- \"ON\"\n- \"y\"\n- none\n- 1:77\n- a:1\n", got.String())
}
