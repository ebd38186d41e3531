package topology

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestGivenPlacement(t *testing.T) {
	launch := placed("ABA")
	launch.Nodes = append(launch.Nodes, bareNode("idle"))
	p, err := Place(launch, engineOf("ray", 3, 1, 1, 1))
	require.NoError(t, err)
	assert.True(t, p.Known)
	assert.Equal(t, SourceWorkers, p.Source)
	assert.Equal(t, Grid{Tensor: 3, PrefillContext: 1, Pipeline: 1, Data: 1}, p.Grid)
	assert.Equal(t, []NodeRanks{{"A", []int64{0, 2}}, {"B", []int64{1}}, {"idle", nil}}, p.Nodes())
	assert.Equal(t, "B", p.Node(1))
	assert.Empty(t, p.Node(3))
	assert.Empty(t, p.Node(-1))
}

func TestGivenPlacementThatIsIncomplete(t *testing.T) {
	launch := placed("A.AB")
	launch.Workers = append(launch.Workers, v1.Worker{Rank: 0, Node: "B"}, v1.Worker{Rank: 0, Node: "A"}, v1.Worker{Rank: 9, Node: "A"})
	p, err := Place(launch, engineOf("ray", 6, 1, 1, 1))
	require.NoError(t, err)
	assert.False(t, p.Known)
	assert.Equal(t, SourceWorkers, p.Source)
	assert.Equal(t, []string{"workers: no worker for ranks 1, 4-5", "workers: more than one worker for rank 0"}, p.Missing)
	assert.Empty(t, p.Node(0), "to believe one of two claims is a guess")
	assert.Equal(t, "A", p.Node(2))
}

func TestGivenPlacementOfUnknownGrid(t *testing.T) {
	engine := engineOf("mp", 2, 1, 1, 1).with(func(e *Engine) {
		e.Unresolved = []Unresolved{{SettingTensor, "$TP is not set"}, {SettingExecutor, "irrelevant where workers are given"}}
	})
	facts := fold(t, placed("AB"), engine)
	assert.Equal(t, Placed{Source: SourceNone, Missing: []string{"engine.parallel.tensor: $TP is not set"}}, facts.Placement)
	assert.Nil(t, facts.Ranks)
	assert.Nil(t, facts.Groups)
	assert.Nil(t, facts.Engine.WorldSize)
}

// With workers it does not matter that the configuration alone would not tell the placement.
func TestGivenPlacementNeedsNoExecutor(t *testing.T) {
	engine := engineOf("mp", 2, 1, 1, 1).with(func(e *Engine) {
		e.Unresolved = []Unresolved{{SettingExecutor, "$EXECUTOR is not set"}, {SettingNnodes, "$N is not set"}}
	})
	assert.True(t, fold(t, placed("AB"), engine).Placement.Known)
}

func TestBadNodes(t *testing.T) {
	workers := func(ids ...string) []v1.Worker {
		var list []v1.Worker
		for rank, id := range ids {
			list = append(list, v1.Worker{Rank: int64(rank), Node: id})
		}
		return list
	}
	sized := func(change func(*v1.Node)) []v1.Node {
		n := v1.Node{ID: "gpu-a", Shm: &v1.Shm{}, Memory: &v1.Memory{}}
		change(&n)
		return []v1.Node{n}
	}
	const negative = "a size is 0 or more: leave the field out where there is no limit or no value"
	for _, test := range []struct {
		name   string
		launch v1.Launch
		want   InputError
	}{
		{
			"an id twice",
			v1.Launch{Nodes: []v1.Node{bareNode("gpu-a"), bareNode("gpu-b"), bareNode("gpu-a")}},
			InputError{
				CodeDuplicateNode, "/nodes/2/id",
				`node id "gpu-a" is already that of /nodes/0; ids must differ: merge the entries or rename one`, "",
			},
		},
		{
			"no id",
			v1.Launch{Nodes: []v1.Node{bareNode("gpu-a"), {}}},
			InputError{CodeEmptyNodeID, "/nodes/1/id", "the node id is empty; give each node an id of its own, such as its name", ""},
		},
		{
			"a worker elsewhere",
			v1.Launch{Nodes: []v1.Node{bareNode("gpu-a"), bareNode("gpu-b")}, Workers: workers("gpu-a", "gpu-bb")},
			InputError{
				CodeUnknownNode, "/workers/1/node",
				`node "gpu-bb" is not among the 2 listed nodes; did you mean "gpu-b"? Otherwise add it to nodes`, "gpu-b",
			},
		},
		{
			"a core elsewhere",
			v1.Launch{Nodes: []v1.Node{bareNode("gpu-a")}, Core: &v1.Core{Node: "head"}},
			InputError{
				CodeUnknownNode, "/core/node", `node "head" is not among the 1 listed nodes; add it to nodes or correct the id`, "",
			},
		},
		{
			"a worker without a node",
			v1.Launch{Workers: workers("gpu-a", "")},
			InputError{CodeEmptyNodeID, "/workers/1/node", "the node id is empty; give each node an id of its own, such as its name", ""},
		},
		{
			"a worker without one of the listed nodes",
			v1.Launch{Nodes: letters("A"), Workers: workers("")},
			InputError{CodeEmptyNodeID, "/workers/0/node", "the node id is empty; give each node an id of its own, such as its name", ""},
		},
		{
			"a core without a node",
			v1.Launch{Core: &v1.Core{}},
			InputError{CodeEmptyNodeID, "/core/node", "the node id is empty; give each node an id of its own, such as its name", ""},
		},
		{
			"no limit written as -1",
			v1.Launch{Nodes: sized(func(n *v1.Node) { n.Memory.LimitBytes = pointer(-1) })},
			InputError{CodeNegativeBytes, "/nodes/0/memory/limit_bytes", "-1 bytes; " + negative, ""},
		},
		{
			"total below 0",
			v1.Launch{Nodes: sized(func(n *v1.Node) { n.Shm.TotalBytes = pointer(-2) })},
			InputError{CodeNegativeBytes, "/nodes/0/shm/total_bytes", "-2 bytes; " + negative, ""},
		},
		{
			"free below 0",
			v1.Launch{Nodes: sized(func(n *v1.Node) { n.Shm.FreeBytes = pointer(-3) })},
			InputError{CodeNegativeBytes, "/nodes/0/shm/free_bytes", "-3 bytes; " + negative, ""},
		},
		{
			"a file below 0",
			v1.Launch{Nodes: sized(func(n *v1.Node) { n.Shm.StaleRegions = []v1.StaleRegion{{}, {Bytes: -4}} })},
			InputError{CodeNegativeBytes, "/nodes/0/shm/stale_regions/1/bytes", "-4 bytes; " + negative, ""},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Fold(&test.launch, engineOf("ray", 2, 1, 1, 1), FoldOptions{Stage: StageLaunch})
			var input *InputError
			require.ErrorAs(t, err, &input)
			assert.Equal(t, test.want, *input)
			assert.EqualError(t, err, test.want.Pointer+": "+test.want.Detail)
			_, err = Place(&test.launch, engineOf("ray", 2, 1, 1, 1))
			assert.ErrorAs(t, err, &input, "Place and Fold read the same")
		})
	}
}

// Ids are found by comparison while they are few, and by hash when they are many.
func TestManyNodes(t *testing.T) {
	launch := &v1.Launch{}
	for i := range 100 {
		id := fmt.Sprintf("gpu-%02d", i)
		launch.Nodes = append(launch.Nodes, fullNode(id, "boot-"+id[:5], "0:27"))
		launch.Workers = append(launch.Workers, v1.Worker{Rank: int64(99 - i), Node: id})
	}
	facts := fold(t, launch, engineOf("ray", 100, 1, 1, 1))
	require.Len(t, facts.Domains, 10, "ten nodes share each boot id")
	assert.Equal(t, int64(10), *facts.Domains[3].Ranks)
	p, err := Place(launch, engineOf("ray", 100, 1, 1, 1))
	require.NoError(t, err)
	assert.Equal(t, "gpu-99", p.Node(0))

	launch.Nodes = append(launch.Nodes, bareNode("gpu-42"))
	_, err = Place(launch, engineOf("ray", 100, 1, 1, 1))
	assert.ErrorContains(t, err, `/nodes/100/id: node id "gpu-42" is already that of /nodes/42`)

	launch.Nodes = nil
	launch.Workers = append(launch.Workers, v1.Worker{Rank: 0, Node: "gpu-07"})
	assert.Len(t, fold(t, launch, engineOf("ray", 100, 1, 1, 1)).Domains, 100, "named by workers, each once")
}

func TestNearest(t *testing.T) {
	for _, test := range []struct {
		name, want string
		candidates []string
	}{
		{"gpu-a", "gpu-b", []string{"head", "gpu-b", "gpu-cc"}},
		{"gpu-aa", "gpu-a", []string{"gpu-bbb", "gpu-a"}},
		{"a", "b", []string{"b"}},
		{"head", "", []string{"gpu-a"}},
		{"gpu-a", "", nil},
		{strings.Repeat("x", nearestLength+1), "", []string{strings.Repeat("x", nearestLength)}},
	} {
		assert.Equal(t, test.want, Nearest(test.name, test.candidates), test.name)
	}
}
