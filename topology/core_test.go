package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestCore(t *testing.T) {
	twoNodes := func(e *Engine) { e.Nnodes = 2 }
	onlyNode := func(list ...v1.Node) *v1.Launch { return &v1.Launch{Nodes: list} }
	const elsewhere = `core: not given, and executor "ray" may start it on any node`
	for _, test := range []struct {
		name   string
		launch *v1.Launch
		core   string
		engine *Engine
		want   *CoreFact
	}{
		{"mp starts it on the first rank's node", placed("AB"), "", engineOf("mp", 2, 1, 1, 1), &CoreFact{Local: 1}},
		{"uni too", placed("A"), "", engineOf("uni", 1, 1, 1, 1), &CoreFact{Local: 1}},
		{"for each replica", placed("AABB"), "", engineOf("mp", 2, 1, 1, 2), &CoreFact{Local: 2}},
		{
			"also where the nodes do not fit", onlyNode(letters("ABC")...), "", engineOf("mp", 2, 1, 1, 1).with(twoNodes),
			&CoreFact{Local: 1},
		},
		{"given, near", placed("AB"), "A", engineOf("ray", 2, 1, 1, 1), &CoreFact{Given: true, Local: 1}},
		{
			"given, elsewhere", placed("AB"), "B", engineOf("mp", 2, 1, 1, 1),
			&CoreFact{Given: true, Remote: []CoreReplica{{CoreNode: "B", RankNode: "A"}}},
		},
		{
			"given for all replicas", placed("AABB"), "A", engineOf("ray", 2, 1, 1, 2),
			&CoreFact{Given: true, Local: 1, Remote: []CoreReplica{{Replica: 1, FirstRank: 2, CoreNode: "A", RankNode: "B"}}},
		},
		{
			"ray on two nodes", placed("AB"), "", engineOf("ray", 2, 1, 1, 1),
			&CoreFact{Open: []CoreReplica{{RankNode: "A", Missing: []string{elsewhere}}}},
		},
		{"ray on one node", placed("AA"), "", engineOf("ray", 2, 1, 1, 1), &CoreFact{Local: 1}},
		{"ray on one node, ranks not placed", onlyNode(bareNode("A")), "", engineOf("ray", 2, 1, 1, 1), &CoreFact{Local: 1}},
		{
			"ray, nothing known", &v1.Launch{}, "", engineOf("ray", 2, 1, 1, 1),
			&CoreFact{Open: []CoreReplica{{Missing: []string{elsewhere, "node of rank 0"}}}},
		},
		{
			"ray on a node that only a worker names", &v1.Launch{Workers: []v1.Worker{{Node: "A"}}}, "", engineOf("ray", 1, 1, 1, 1),
			&CoreFact{Open: []CoreReplica{{RankNode: "A", Missing: []string{elsewhere}}}},
		},
		{
			"an executor that is not known",
			placed("AB"), "", engineOf("mp", 2, 1, 1, 1).with(func(e *Engine) { e.Unresolved = []Unresolved{{Setting: SettingExecutor}} }),
			&CoreFact{Open: []CoreReplica{{
				RankNode: "A", Missing: []string{"core: not given, and the executor, which is not known yet, decides where it starts"},
			}}},
		},
		{
			"given, but the first rank is not placed",
			&v1.Launch{Nodes: letters("AB"), Workers: []v1.Worker{{Rank: 1, Node: "A"}}}, "B", engineOf("ray", 2, 1, 1, 1),
			&CoreFact{Given: true, Open: []CoreReplica{{CoreNode: "B", Missing: []string{"node of rank 0"}}}},
		},
		{
			"given on one of the nodes that were made up", &v1.Launch{}, "node-0", engineOf("mp", 2, 1, 1, 1).with(twoNodes),
			&CoreFact{Given: true, Local: 1},
		},
		{
			"given under a real name", &v1.Launch{}, "gpu-a", engineOf("mp", 2, 1, 1, 1).with(twoNodes),
			&CoreFact{Given: true, Open: []CoreReplica{{
				CoreNode: "gpu-a", RankNode: "node-0", Missing: []string{"nodes: not listed, so that node gpu-a of the core may be any " +
					"of them"},
			}}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.core != "" {
				test.launch.Core = &v1.Core{Node: test.core}
			}
			want := *test.want
			want.Remote, want.Open = notNil(want.Remote), notNil(want.Open)
			assert.Equal(t, &want, fold(t, test.launch, test.engine).Core)
		})
	}
}

func TestCoreOnANodeWithoutFacts(t *testing.T) {
	launch := placed("A")
	launch.Nodes = append(launch.Nodes, bareNode("H"))
	launch.Core = &v1.Core{Node: "H"}
	assert.Equal(t, []CoreReplica{{CoreNode: "H", RankNode: "A", Missing: []string{"boot_id and shm.device of node H"}}},
		fold(t, launch, engineOf("ray", 1, 1, 1, 1)).Core.Open)
}

func TestCoreIsAbsent(t *testing.T) {
	assert.Nil(t, fold(t, placed("A"), engineOf("mp", 1, 1, 1, 1), FoldOptions{Stage: StageRegistration}).Core,
		"at registration it answers for itself, later")
	assert.Nil(t, fold(t, placed("A"), engineOf("mp", 1, 1, 0, 1)).Core, "no first rank")
}
