package output

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology/document"
)

var update = flag.Bool("update", false, "rewrite what the tests want")

// TestText prints the verdicts of testdata/text. Each archive holds a launch, a verdict and, by style, what is wanted.
func TestText(t *testing.T) {
	styles := map[string]Style{
		"want":         {Width: 100},
		"want-narrow":  {Width: 80},
		"want-verbose": {Width: 100, Verbose: true},
		"want-grid":    {Width: 100, Grid: true},
		"want-colour":  {Width: 100, Colour: true},
	}
	files, err := filepath.Glob("testdata/text/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			results := []Result{resultOf(t, archive)}
			wanted := 0
			for i := range archive.Files {
				style, ok := styles[archive.Files[i].Name]
				if !ok {
					continue
				}
				wanted++
				var got bytes.Buffer
				require.NoError(t, New(Text, style).Write(&got, results))
				shown := strings.ReplaceAll(got.String(), "\x1b", "ESC")
				if *update {
					archive.Files[i].Data = []byte(shown)
				}
				assert.Equal(t, string(archive.Files[i].Data), shown, archive.Files[i].Name)
			}
			require.NotZero(t, wanted)
			if *update {
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
			}
		})
	}
}

func resultOf(t *testing.T, archive *txtar.Archive) Result {
	t.Helper()
	r := Result{Source: "case.yaml"}
	for _, f := range archive.Files {
		var err error
		switch f.Name {
		case "launch.yaml":
			r.Launch, err = document.Launch(f.Data, "application/yaml")
		case "verdict.json":
			r.JSON, r.Verdict = f.Data, new(v1.Verdict)
			err = json.Unmarshal(f.Data, r.Verdict)
		}
		require.NoError(t, err, f.Name)
	}
	return r
}
