package kube_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology/kube"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// Each manifest of testdata has a golden file with the launches that are read from it.
func TestGolden(t *testing.T) {
	manifests, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, manifests)
	for _, manifest := range manifests {
		t.Run(filepath.Base(manifest), func(t *testing.T) {
			data, err := os.ReadFile(manifest)
			require.NoError(t, err)
			engines, err := kube.Read(data)
			require.NoError(t, err)
			got := golden(t, engines)
			path := strings.TrimSuffix(manifest, ".yaml") + ".golden.json"
			if *update {
				require.NoError(t, os.WriteFile(path, got, 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err, "run the test with -update")
			assert.Equal(t, string(want), string(got))
		})
	}
}

// golden writes launches so that a change shows in few lines: a node is one line, quotes stay quotes.
func golden(t *testing.T, engines []kube.Engine) []byte {
	var text bytes.Buffer
	line := func(format string, value any) {
		var compact bytes.Buffer
		encoder := json.NewEncoder(&compact)
		encoder.SetEscapeHTML(false)
		require.NoError(t, encoder.Encode(value))
		text.WriteString(strings.Replace(format, "%", strings.TrimSpace(compact.String()), 1))
	}
	text.WriteString("[\n")
	for i, engine := range engines {
		line(`{"source": %, "launch": {`+"\n", engine.Source)
		line(`  "engine": %, "nodes": [`+"\n", engine.Launch.Engine)
		lines(line, engine.Launch.Nodes)
		text.WriteString("  ]")
		if engine.Launch.Workers != nil {
			text.WriteString(`, "workers": [` + "\n")
			lines(line, engine.Launch.Workers)
			text.WriteString("  ]")
		}
		text.WriteString("}}")
		if i < len(engines)-1 {
			text.WriteString(",")
		}
		text.WriteString("\n")
	}
	text.WriteString("]\n")
	require.True(t, json.Valid(text.Bytes()), text.String())
	return text.Bytes()
}

func lines[T v1.Node | v1.Worker](line func(string, any), list []T) {
	for i, value := range list {
		if i < len(list)-1 {
			line("    %,\n", value)
		} else {
			line("    %\n", value)
		}
	}
}
