package bench

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
)

// expectation is the part of an .expect.yaml file that a peer can be held to.
type expectation struct {
	Outcome string            `yaml:"outcome"`
	Checks  map[string]string `yaml:"checks"`
	Groups  []v1.Group        `yaml:"groups"`
}

// structuredCases counts the project's own cases that give fields and workers; fewer mean that the walk is broken.
const structuredCases = 24

func TestPeersAnswerTheCasesLikeTiergate(t *testing.T) {
	peers := startPeers(t)
	files, err := filepath.Glob("../testdata/launches/*.expect.yaml")
	require.NoError(t, err)
	cases := 0
	for _, file := range files {
		launch, ok := structuredLaunch(t, strings.TrimSuffix(file, ".expect.yaml")+".yaml")
		if !ok {
			continue
		}
		cases++
		var want expectation
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, &want))
		for _, peer := range peers {
			t.Run(peer.Name+"/"+strings.TrimSuffix(filepath.Base(file), ".expect.yaml"), func(t *testing.T) {
				verdict := decide(t, peer, launch)
				assert.Equal(t, want.Outcome, verdict.Outcome)
				outcomes := outcomesOf(verdict)
				for id, outcome := range want.Checks {
					assert.Equal(t, outcome, outcomes[id], id)
				}
				assert.ElementsMatch(t, want.Groups, spanningGroups(verdict))
			})
		}
	}
	assert.GreaterOrEqual(t, cases, structuredCases)
}

// structuredLaunch reads a launch that is given as fields and with workers, as JSON.
func structuredLaunch(t *testing.T, file string) ([]byte, bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var document struct {
		Engine map[string]any `yaml:"engine"`
		Rest   map[string]any `yaml:",inline"`
	}
	if yaml.Unmarshal(text, &document) != nil || document.Engine["parallel"] == nil || document.Rest["workers"] == nil {
		return nil, false
	}
	document.Rest["engine"] = document.Engine
	launch, err := json.Marshal(document.Rest)
	require.NoError(t, err)
	return launch, true
}

func TestGeneratedLaunches(t *testing.T) {
	peers := startPeers(t)
	for _, c := range []struct {
		workers int
		variant Variant
		outcome string
		groups  []v1.Group
		probed  int
	}{
		{8, OK, v1.Allow, nil, 1},
		{8, Bad, v1.Deny, []v1.Group{{Kind: "tp", Ranks: []int64{0, 1, 2, 3, 4, 5, 6, 7}}}, 1},
		{16, OK, v1.Allow, nil, 2 + 8},
		{64, Bad, v1.Deny, []v1.Group{
			{Kind: "tp", Ranks: []int64{56, 57, 58, 59, 60, 61, 62, 63}}, {Kind: "pp", Ranks: []int64{55, 63}},
		}, 8 + 32},
		{24 + 8, Spread, v1.Deny, []v1.Group{
			{Kind: "pp", Ranks: []int64{0, 8, 16, 24}},
			{Kind: "pp", Ranks: []int64{1, 9, 17, 25}},
			{Kind: "pp", Ranks: []int64{2, 10, 18, 26}},
			{Kind: "pp", Ranks: []int64{3, 11, 19, 27}},
			{Kind: "pp", Ranks: []int64{4, 12, 20, 28}},
			{Kind: "pp", Ranks: []int64{5, 13, 21, 29}},
			{Kind: "pp", Ranks: []int64{6, 14, 22, 30}},
			{Kind: "pp", Ranks: []int64{7, 15, 23, 31}},
		}, 4 + 8},
		// Beyond 512 numbers, OPA makes ranges in another way.
		{1024, OK, v1.Allow, nil, 128 + 512},
	} {
		for _, peer := range peers {
			verdict := decide(t, peer, Document(c.workers, c.variant))
			name := []any{peer.Name, c.workers, c.variant}
			assert.Equal(t, c.outcome, verdict.Outcome, name...)
			assert.ElementsMatch(t, c.groups, spanningGroups(verdict), name...)
			assert.Len(t, verdict.Probe, c.probed, name...)
			assert.Len(t, verdict.Checks, 12, name...)
		}
	}
}

func TestLaunchRefusesNumbersThatMakeNoGrid(t *testing.T) {
	for _, workers := range []int{0, 4, 12, 24} {
		assert.Panics(t, func() { Launch(workers, OK) }, workers)
	}
}

func startPeers(t testing.TB) []Contender {
	t.Helper()
	interpreter, err := Interpreter(context.Background())
	require.NoError(t, err)
	wasm, err := OPAWasm(context.Background())
	require.NoError(t, err)
	return []Contender{interpreter, wasm}
}

func decide(t testing.TB, c Contender, launch []byte) v1.Verdict {
	t.Helper()
	text, err := c.Decide(context.Background(), launch)
	require.NoError(t, err, c.Name)
	var verdict v1.Verdict
	require.NoError(t, json.Unmarshal(text, &verdict), c.Name)
	return verdict
}

func outcomesOf(verdict v1.Verdict) map[string]string {
	outcomes := make(map[string]string, len(verdict.Checks))
	for _, check := range verdict.Checks {
		outcomes[check.ID] = check.Outcome
	}
	return outcomes
}

// spanningGroups are the groups that tiering.node_local names.
func spanningGroups(verdict v1.Verdict) []v1.Group {
	var groups []v1.Group
	for _, check := range verdict.Checks {
		if check.ID != "tiering.node_local" {
			continue
		}
		for _, violation := range check.Violations {
			groups = append(groups, *violation.Group)
		}
	}
	return groups
}
