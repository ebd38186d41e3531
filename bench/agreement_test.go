package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// The comparison of speeds is only worth something if both sides do the same work, so the peer policy must agree with
// the shipped rules in every outcome, on the changed launches and on random ones.
func TestPeerAgreesWithTiergate(t *testing.T) {
	ours, peer := startBoth(t)
	for _, c := range changes {
		if slices.Contains(incomparable, c.name) {
			continue
		}
		t.Run(c.check+"/"+c.name, func(t *testing.T) {
			launch := Launch(16, OK)
			c.make(launch)
			assertAgreement(t, ours, peer, launch)
		})
	}
}

// Tiergate refuses the one before any rule is asked, and leaves open whether the other has tiers, as it cannot be
// read. The peer denies both.
var incomparable = []string{"huge grid", "transfer is no object"}

func TestPeerAgreesOnRandomLaunches(t *testing.T) {
	ours, peer := startBoth(t)
	rapid.Check(t, func(t *rapid.T) { assertAgreement(t, ours, peer, randomLaunch(t)) })
}

func TestPeerAgreesOnGeneratedLaunches(t *testing.T) {
	ours, peer := startBoth(t)
	for _, workers := range []int{8, 16, 64, 512} {
		for _, variant := range []Variant{OK, Bad, Spread} {
			assertAgreement(t, ours, peer, Launch(workers, variant))
		}
	}
}

func startBoth(t *testing.T) (ours, peer Contender) {
	t.Helper()
	ours, err := Tiergate(context.Background())
	require.NoError(t, err)
	peer, err = Interpreter(context.Background())
	require.NoError(t, err)
	return ours, peer
}

func assertAgreement(t rapid.TB, ours, peer Contender, launch *v1.Launch) {
	text, err := json.Marshal(launch)
	require.NoError(t, err)
	var verdicts [2]v1.Verdict
	for i, c := range []Contender{ours, peer} {
		answer, err := c.Decide(context.Background(), text)
		require.NoError(t, err, c.Name)
		require.NoError(t, json.Unmarshal(answer, &verdicts[i]), c.Name)
	}
	assert.Empty(t, differences(verdicts[0], verdicts[1]))
	assert.Equal(t, verdicts[0].Outcome, verdicts[1].Outcome)
	assert.ElementsMatch(t, spanningGroups(verdicts[0]), spanningGroups(verdicts[1]))
	assert.ElementsMatch(t, verdicts[0].Probe, verdicts[1].Probe)
}

func differences(ours, peers v1.Verdict) []string {
	var list []string
	theirs := outcomesOf(peers)
	for id, outcome := range outcomesOf(ours) {
		if theirs[id] != outcome {
			list = append(list, fmt.Sprintf("%s is %s, of the peer %s", id, outcome, theirs[id]))
		}
	}
	slices.Sort(list)
	return list
}

// randomLaunch draws a launch of up to 48 workers on up to four nodes, with facts absent here and there. Its workers
// make up the grid: where they do not, the peer gives up on all groups, and Tiergate still judges those that are
// placed.
func randomLaunch(t *rapid.T) *v1.Launch {
	parallel := &v1.Parallel{
		Tensor: size(t, "tensor", 4), Pipeline: size(t, "pipeline", 3), PrefillContext: size(t, "pcp", 2),
		DecodeContext: size(t, "dcp", 4), Data: size(t, "data", 2),
	}
	launch := &v1.Launch{Engine: v1.Engine{
		Version:    rapid.SampledFrom([]string{"", "0.22.1", "0.33.0"}).Draw(t, "version"),
		Parallel:   parallel,
		Executor:   rapid.SampledFrom([]string{"", "mp", "ray", "external_launcher", "uni"}).Draw(t, "executor"),
		Nnodes:     size(t, "nnodes", 3),
		KVTransfer: json.RawMessage(rapid.SampledFrom(randomTransfers).Draw(t, "transfer")),
	}}
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		launch.Nodes = append(launch.Nodes, randomNode(t, i))
	}
	world := *parallel.Tensor * *parallel.Pipeline * *parallel.PrefillContext * *parallel.Data
	near := rapid.Bool().Draw(t, "near")
	for rank := range world {
		node := launch.Nodes[int(rank)*len(launch.Nodes)/int(world)].ID
		if !near {
			node = launch.Nodes[rapid.IntRange(0, len(launch.Nodes)-1).Draw(t, "placement")].ID
		}
		launch.Workers = append(launch.Workers, worker(int(rank), node))
	}
	if rapid.IntRange(0, 5).Draw(t, "disorder") == 0 {
		seed := rapid.Uint64().Draw(t, "seed")
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(launch.Workers), func(i, j int) {
			launch.Workers[i].Rank, launch.Workers[j].Rank = launch.Workers[j].Rank, launch.Workers[i].Rank
		})
	}
	if rapid.Bool().Draw(t, "core given") {
		launch.Core = &v1.Core{Node: launch.Nodes[rapid.IntRange(0, len(launch.Nodes)-1).Draw(t, "core")].ID}
	}
	return launch
}

func size(t *rapid.T, name string, most int64) *int64 {
	return new(rapid.Int64Range(1, most).Draw(t, name))
}

func randomNode(t *rapid.T, index int) v1.Node {
	rare := func(name string) bool { return rapid.IntRange(0, 7).Draw(t, name) == 0 }
	node := container(index, rapid.IntRange(0, 1).Draw(t, "host"))
	node.Shm.Device = fmt.Sprintf("0:%d", 27+rapid.IntRange(0, 1).Draw(t, "device"))
	free := []int64{regionSize - 1, regionSize, 2 * regionSize, 500 * gib}
	node.Shm.FreeBytes = new(rapid.SampledFrom(free).Draw(t, "free"))
	node.Memory.LimitBytes = new(rapid.SampledFrom([]int64{gib, 32 * gib, regionSize, 1024 * gib}).Draw(t, "limit"))
	if rare("no boot id") {
		node.BootID = ""
	}
	if rare("no device") {
		node.Shm.Device = ""
	}
	if rare("no free bytes") {
		node.Shm.FreeBytes = nil
	}
	if rare("no report of stale regions") {
		node.Shm.StaleRegions = nil
	}
	if rare("stale region") {
		node.Shm.StaleRegions = []v1.StaleRegion{{Name: "vllm_offload_a.mmap", Bytes: gib}}
	}
	node.Shm.Host = rare("host's shm")
	return node
}

var randomTransfers = []string{
	`null`,
	transfer,
	`{"kv_connector":"NixlConnector","kv_role":"kv_both"}`,
	`{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":{` +
		`"cpu_bytes_to_use":68719476736}}`,
	`{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":{` +
		`"spec_name":"TieringOffloadingSpec","cpu_bytes_to_use":68719476736,"mirror_source":"auto",` +
		`"secondary_tiers":[{"type":"p2p"},{"type":"kvcr"}]}}`,
	`{"kv_connector":"OffloadingConnector","kv_connector_extra_config":{"spec_name":"SiteSpec","secondary_tiers":[]}}`,
	`{"kv_connector":"MultiConnector","kv_role":"kv_both","kv_connector_extra_config":{"connectors":[` +
		`{"kv_connector":"NixlConnector","kv_role":"kv_both"},` + transfer + `]}}`,
}
