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

// TestFormats prints the verdicts of testdata. Each archive holds a launch, a verdict and, by format, what is wanted.
func TestFormats(t *testing.T) {
	formats := map[string]Format{
		"want":         New(Text, Style{Width: 100}),
		"want-narrow":  New(Text, Style{Width: 80}),
		"want-verbose": New(Text, Style{Width: 100, Verbose: true}),
		"want-grid":    New(Text, Style{Width: 100, Grid: true}),
		"want-colour":  New(Text, Style{Width: 100, Colour: true}),
		"want.json":    New(JSON, Style{}),
		"want.yaml":    New(YAML, Style{}),
		"want.xml":     New(JUnit, Style{}),
	}
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			results := []Result{resultOf(t, archive)}
			wanted := 0
			for i := range archive.Files {
				format, ok := formats[archive.Files[i].Name]
				if !ok {
					continue
				}
				wanted++
				var got bytes.Buffer
				require.NoError(t, format.Write(&got, results))
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
