package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// atRegistration folds what the workers of one replica report.
func atRegistration(t *testing.T, launch *v1.Launch, engine *Engine, needs Needs) *Facts {
	t.Helper()
	return fold(t, launch, engine, FoldOptions{Stage: StageRegistration, Needs: needs})
}

// However many replicas there are, one registers; what the engine is configured with stays a fact.
func TestOneReplicaRegisters(t *testing.T) {
	engine := engineOf("mp", 2, 1, 1, 3).with(offload(1000)).with(func(e *Engine) { e.Nnodes, e.DataLocal = 3, pointer(1) })
	facts := atRegistration(t, placed("AA"), engine, Needs{})
	assert.True(t, facts.Placement.Known)
	assert.Equal(t, int64(3), *facts.Engine.Parallel.Data)
	assert.Equal(t, int64(3), *facts.Engine.Nnodes)
	assert.Equal(t, int64(2), facts.Ranks.World)
	assert.Empty(t, facts.Ranks.Missing)
	assert.Equal(t, int64(1), facts.Groups.TP.Count)
	assert.Equal(t, &Replicas{Count: 1, Spanning: []SpanningReplica{}}, facts.Replicas)
	assert.Equal(t, []load{{"[A]", 2, []int64{0}, 1000, 1000}}, loads(facts.Domains), "one region, with the core on rank 0's node")
}

// A fleet may have more ranks than are judged at once: its replicas register one by one.
func TestReplicasOfALargeFleetRegister(t *testing.T) {
	facts := atRegistration(t, placed("AB"), engineOf("mp", 2, 1, 1, MaxRanks), Needs{})
	assert.Equal(t, []string{"tp[0 1]"}, spanningOf(facts.Groups))
}

func TestGroupsAcrossReplicas(t *testing.T) {
	needs := Needs{DP: true, EP: true, DCP: true}
	alone := atRegistration(t, placed("AB"), engineOf("mp", 2, 1, 1, 1), needs)
	assert.NotNil(t, alone.Groups.DP)
	assert.NotNil(t, alone.Groups.EP, "a single replica has all of its expert-parallel ranks")
	several := atRegistration(t, placed("AB"), engineOf("mp", 2, 1, 1, 2), needs)
	assert.Nil(t, several.Groups.DP)
	assert.Nil(t, several.Groups.EP, "part of a group would be taken for all of it")
	assert.NotNil(t, several.Groups.DCP)
}

// The memberships of a rank in groups across replicas cannot be compared with one replica's grid; all others can.
func TestDeclaredGroupsAtRegistration(t *testing.T) {
	declare := func(kind string, ranks ...int64) *v1.Launch {
		launch := placed("AA")
		launch.Workers[0].Groups = map[string][]int64{kind: ranks}
		return launch
	}
	for _, test := range []struct {
		name   string
		launch *v1.Launch
		data   int64
		fits   bool
	}{
		{"dp across replicas", declare(DP, 0, 2), 2, true},
		{"ep across replicas", declare(EP, 0, 1, 2, 3), 2, true},
		{"dp without replicas", declare(DP, 0, 2), 1, false},
		{"ep without replicas", declare(EP, 0, 1), 1, true},
		{"tp with global ranks", declare(TP, 2, 3), 2, false},
		{"tp", declare(TP, 0, 1), 2, true},
		{"dcp", declare(DCP, 0), 2, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			facts := atRegistration(t, test.launch, engineOf("mp", 2, 1, 1, test.data), Needs{})
			assert.Equal(t, test.fits, len(facts.Ranks.OffGrid) == 0, facts.Ranks.OffGrid)
		})
	}
}

func TestWorldSizesThatDiffer(t *testing.T) {
	launch := placed("ABA")
	for i, size := range []int64{4, 8, 0} {
		launch.Workers[i].WorldSize, launch.Workers[i].Config = size, &v1.Configuration{}
	}
	assert.Equal(t, []ConfigurationGroup{
		{Ranks: "rank 0", Nodes: []string{"A"}, Differs: []string{}},
		{Ranks: "rank 1", Nodes: []string{"B"}, Differs: []string{"world_size: 8, not 4"}},
		{Ranks: "rank 2", Nodes: []string{"A"}, Differs: []string{"world_size: absent, not 4"}},
	}, atRegistration(t, launch, engineOf("mp", 4, 1, 1, 1), Needs{}).Configurations)
}
