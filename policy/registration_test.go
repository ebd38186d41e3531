package policy

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// replica is one of two data-parallel replicas, TP=2 on nnodes=2, as its workers report it.
func replica(t testing.TB, nodes ...string) *v1.Launch {
	t.Helper()
	launch := twoNodes(t, nodes...)
	two := int64(2)
	launch.Engine.Parallel.Data, launch.Engine.Nnodes, launch.Engine.Executor, launch.Core = &two, &two, "mp", nil
	launch.Engine.ID, launch.Engine.Version = "engine-a.dp1", "0.33.0"
	for i := range launch.Workers {
		w := &launch.Workers[i]
		w.Version, w.WorldSize, w.Groups = "0.33.0", 2, map[string][]int64{"tp": {0, 1}, "dp": {w.Rank, w.Rank + 2}}
		w.Config = &v1.Configuration{
			Version: "0.33.0", Parallel: launch.Engine.Parallel, Executor: "mp", Nnodes: &two, KVTransfer: launch.Engine.KVTransfer,
		}
	}
	return launch
}

func register(t testing.TB, e *Engine, launch *v1.Launch) v1.Verdict {
	t.Helper()
	d, err := e.DecideAt(t.Context(), topology.StageRegistration, launch)
	require.NoError(t, err)
	var v v1.Verdict
	require.NoError(t, json.Unmarshal(d.JSON, &v), string(d.JSON))
	return v
}

var oneGroup = []v1.Group{{Kind: "tp", Ranks: []int64{0, 1}}}

func TestReplicaRegisters(t *testing.T) {
	e := newEngine(t, Options{})
	v := register(t, e, replica(t, "gpu-a", "gpu-a"))
	assert.Equal(t, v1.Allow, v.Outcome)
	assert.Equal(t, oneGroup, v.Probe, "one replica proves itself, by the ranks within it")
	for _, c := range v.Checks {
		assert.Contains(t, []string{v1.Pass, v1.NotApplicable}, c.Outcome, c.ID)
	}
	assert.Equal(t, v1.NotApplicable, result(t, v, "tiering.core_local").Outcome, "the core answers for itself")
	assert.Equal(t, v1.Pass, result(t, v, "parallel.config").Outcome)
	assert.Equal(t, v1.Pass, result(t, v, "topology.ranks").Outcome)
	assert.Empty(t, v.Assumed)
}

func TestReplicaThatSpans(t *testing.T) {
	e := newEngine(t, Options{})
	v := register(t, e, replica(t, "gpu-a", "gpu-b"))
	assert.Equal(t, v1.Deny, v.Outcome)
	assert.Equal(t, oneGroup, v.Probe)
	assert.Equal(t, oneGroup[0], *result(t, v, "tiering.node_local").Violations[0].Group)

	withheld := replica(t, "gpu-a", "gpu-b")
	withheld.Nodes[1].BootID = ""
	v = register(t, e, withheld)
	assert.Equal(t, v1.Unknown, v.Outcome)
	c := result(t, v, "tiering.node_local")
	assert.Equal(t, []string{"boot_id of node gpu-b"}, c.Missing)
	assert.Equal(t, oneGroup, v.Probe, "the probe alone decides")
}

// Mirroring excludes data parallelism, of which a replica is told only by its configuration.
func TestReplicaDoesNotMirror(t *testing.T) {
	e := newEngine(t, Options{Data: []byte(`{settings: {features: {mirror: ["0.33.0"]}}}`)})
	launch := replica(t, "gpu-a", "gpu-b")
	launch.Engine.KVTransfer = json.RawMessage(`{"kv_connector": "OffloadingConnector", "kv_role": "kv_both",
		"kv_connector_extra_config": {"spec_name": "TieringOffloadingSpec", "cpu_bytes_to_use": 4096, "mirror_source": true,
		"secondary_tiers": [{"type": "fs", "root_dir": "/kv"}]}}`)
	v := register(t, e, launch)
	assert.Equal(t, v1.Fail, result(t, v, "tiering.mirror").Outcome)
	assert.Equal(t, v1.Fail, result(t, v, "tiering.node_local").Outcome)
	one := int64(1)
	launch.Engine.Parallel.Data = &one
	v = register(t, e, launch)
	assert.Equal(t, v1.NotApplicable, result(t, v, "tiering.node_local").Outcome)
	assert.Empty(t, v.Probe)
}

func TestRanksThatDisagree(t *testing.T) {
	e := newEngine(t, Options{})
	launch := replica(t, "gpu-a", "gpu-b")
	launch.Workers[1].WorldSize = 8
	v := register(t, e, launch)
	assert.Equal(t, "the configuration of rank 1 differs from that of rank 0: world_size: 8, not 2",
		result(t, v, "consistency.config").Violations[0].Message)
	assert.Empty(t, v.Probe, "nobody knows who belongs to which group")

	launch = replica(t, "gpu-a", "gpu-b")
	launch.Workers[1].Groups = map[string][]int64{"tp": {1}}
	assert.Equal(t, v1.Violation{
		Message: "rank 1 declares tp group [1], in this grid it is [0, 1]", Nodes: []string{"gpu-b"},
		Group: &v1.Group{Kind: "tp", Ranks: []int64{1}},
		Fix:   "correct the group, or the parallel sizes and the order of ranks (TP fastest, then PCP, PP, DP)",
	}, result(t, register(t, e, launch), "topology.ranks").Violations[0])

	launch = replica(t, "gpu-a", "gpu-b")
	other := *launch.Workers[1].Config
	other.Version, launch.Workers[1].Version = "0.32.0", "0.32.0"
	launch.Workers[1].Config = &other
	v = register(t, e, launch)
	assert.Equal(t, "engine version 0.32.0 on rank 1, but 0.33.0 on rank 0", result(t, v, "consistency.versions").Violations[0].Message)
	assert.Equal(t, "the configuration of rank 1 differs from that of rank 0: version: 0.32.0, not 0.33.0",
		result(t, v, "consistency.config").Violations[0].Message)
	assert.Equal(t, []string{"gpu-b"}, result(t, v, "consistency.config").Violations[0].Nodes)
}

// A site may let ranks disagree. The groups are then still to be proved: an allow without any proof would be a guess.
func TestDisagreementThatIsLetThroughIsProbed(t *testing.T) {
	launch := replica(t, "gpu-a", "gpu-a")
	launch.Workers[1].WorldSize = 8
	for name, data := range map[string]string{
		"warn":     `{settings: {enforcement: {consistency.config: warn}}}`,
		"waiver":   `{settings: {waivers: [{check: consistency.config, engine: "*", owner: ada, reason: test, expires: 9999-01-01}]}}`,
		"disabled": `{settings: {disabled: [{id: consistency.config, owner: ada, reason: lab}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			v := register(t, newEngine(t, Options{Data: []byte(data)}), launch)
			assert.Equal(t, v1.Allow, v.Outcome)
			assert.Equal(t, oneGroup, v.Probe)
		})
	}
}

// A waiver is for what is known to fail: ranks that could not read where they are still have to prove it.
func TestWaivedReplica(t *testing.T) {
	e := newEngine(t, Options{Data: []byte(`{settings: {waivers: [{check: tiering.node_local, engine: "*", owner: ada, reason: test,
		expires: 9999-01-01, accept_corruption: true}]}}`)})
	withheld := replica(t, "gpu-a", "gpu-b")
	withheld.Nodes[1].BootID = ""
	for name, tc := range map[string]struct {
		launch            *v1.Launch
		verdict           string
		outcome, enforced string
		waived            bool
	}{
		"spans":    {replica(t, "gpu-a", "gpu-b"), v1.Allow, v1.Fail, v1.EnforceWarn, true},
		"withheld": {withheld, v1.Unknown, v1.Unknown, v1.EnforceDeny, false},
		"local":    {replica(t, "gpu-a", "gpu-a"), v1.Allow, v1.Pass, v1.EnforceDeny, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := register(t, e, tc.launch)
			c := result(t, v, "tiering.node_local")
			assert.Equal(t, tc.verdict, v.Outcome)
			assert.Equal(t, []string{tc.outcome, tc.enforced}, []string{c.Outcome, c.Enforcement})
			assert.Equal(t, tc.waived, c.Waiver != nil)
			assert.Equal(t, !tc.waived, len(v.Probe) > 0)
		})
	}
}

func TestStageIsPartOfTheDigest(t *testing.T) {
	e := newEngine(t, Options{})
	launch := twoNodes(t, "gpu-a", "gpu-a")
	launch.Core = nil
	at, err := e.DecideAt(t.Context(), topology.StageLaunch, launch)
	require.NoError(t, err)
	plain, err := e.Decide(t.Context(), launch)
	require.NoError(t, err)
	assert.Equal(t, plain, at)
	assert.NotEqual(t, plain.Digest, register(t, e, launch).Digest)
	_, err = e.DecideAt(t.Context(), "start", launch)
	assert.Error(t, err)
}
