package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/cli/input"
)

// expectation is what a case of testdata/launches says of its launch.
type expectation struct {
	// Source is the public report or file that the case was made from; empty for one that was thought out.
	Source  string            `yaml:"source"`
	Why     string            `yaml:"why"`
	Outcome string            `yaml:"outcome"`
	Checks  map[string]string `yaml:"checks"`
	// Groups are all spanning groups, where tiering.node_local fails.
	Groups []v1.Group `yaml:"groups"`
	// Engines is set instead where a file holds several engines, by what stands behind # in their sources.
	Engines map[string]expectation `yaml:"engines"`
}

// TestLaunches judges every launch of testdata/launches as the command line does.
func TestLaunches(t *testing.T) {
	l, err := newLocal(t.Context(), &policyFlags{})
	require.NoError(t, err)
	t.Cleanup(l.close)
	files, err := filepath.Glob("../../testdata/launches/*.expect.yaml")
	require.NoError(t, err)
	require.Greater(t, len(files), 50)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".expect.yaml"), func(t *testing.T) {
			want := readExpectation(t, file)
			inputs := input.Files([]string{strings.TrimSuffix(file, ".expect.yaml") + ".yaml"}, nil)
			if want.Engines == nil {
				require.Len(t, inputs, 1)
				assertVerdict(t, l, inputs[0], want)
				return
			}
			require.Len(t, inputs, len(want.Engines))
			for _, in := range inputs {
				_, engine, _ := strings.Cut(in.Source, "#")
				require.Contains(t, want.Engines, engine)
				assertVerdict(t, l, in, want.Engines[engine])
			}
		})
	}
}

func readExpectation(t *testing.T, file string) (want expectation) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&want))
	require.NotEmpty(t, want.Why)
	return want
}

func assertVerdict(t *testing.T, l local, in input.Input, want expectation) {
	t.Helper()
	require.NoError(t, in.Err)
	text, err := l.decide(context.Background(), in.Launch)
	require.NoError(t, err)
	var got v1.Verdict
	require.NoError(t, json.Unmarshal(text, &got))
	assert.Equal(t, want.Outcome, got.Outcome, "outcome of %s", in.Source)
	outcomes, spanning := map[string]string{}, []v1.Group(nil)
	for _, c := range got.Checks {
		outcomes[c.ID] = c.Outcome
		if _, asserted := want.Checks[c.ID]; asserted && c.Outcome != want.Checks[c.ID] || want.Outcome != got.Outcome {
			t.Logf("%s: %s %v %v", c.ID, c.Outcome, c.Violations, c.Missing)
		}
		for _, v := range c.Violations {
			if c.ID == "tiering.node_local" && v.Group != nil {
				spanning = append(spanning, *v.Group)
			}
		}
	}
	for id, outcome := range want.Checks {
		assert.Equal(t, outcome, outcomes[id], id)
	}
	if want.Checks["tiering.node_local"] == v1.Fail {
		assert.ElementsMatch(t, want.Groups, spanning, "spanning groups")
	}
}
