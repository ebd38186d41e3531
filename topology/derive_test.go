package topology

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// layoutOf writes the nodes of all ranks, e.g. "A A B B".
func layoutOf(p *Placement) string {
	var ids []string
	for rank := range p.Grid.World() {
		ids = append(ids, p.Node(rank))
	}
	return strings.Join(ids, " ")
}

func TestDerivedPlacement(t *testing.T) {
	nnodes := func(n int64) func(*Engine) { return func(e *Engine) { e.Nnodes = n } }
	local := func(n int64) func(*Engine) { return func(e *Engine) { e.DataLocal = &n } }
	for _, test := range []struct {
		name   string
		engine *Engine
		nodes  []v1.Node
		source string
		layout string
	}{
		{"one host", engineOf("mp", 2, 1, 1, 2), letters("A"), SourceOneHost, "A A A A"},
		{"uni", engineOf("uni", 1, 1, 1, 1), letters("A"), SourceOneHost, "A"},
		{
			"one host listed as two containers", engineOf("mp", 2, 1, 1, 1),
			[]v1.Node{fullNode("A", "boot-1", "0:27"), fullNode("B", "boot-1", "0:27")},
			SourceOneHost, "A A",
		},
		{"blocks", engineOf("mp", 2, 1, 2, 1).with(nnodes(2)), letters("AB"), SourceBlocks, "A A B B"},
		{"blocks over TP", engineOf("mp", 4, 1, 1, 1).with(nnodes(2)), letters("AB"), SourceBlocks, "A A B B"},
		{"a rank per node", engineOf("mp", 1, 2, 2, 1).with(nnodes(4)), letters("ABCD"), SourceBlocks, "A B C D"},
		{"as many replicas as nodes", engineOf("mp", 2, 1, 1, 2).with(nnodes(2)), letters("AB"), SourceBlocks, "A A B B"},
		{"two replicas per node", engineOf("mp", 1, 1, 1, 4).with(nnodes(2)), letters("AB"), SourceBlocks, "A A B B"},
		{"two nodes per replica", engineOf("mp", 2, 1, 1, 2).with(nnodes(4)), letters("ABCD"), SourceBlocks, "A B C D"},
		{
			"all replicas over both nodes", engineOf("mp", 2, 1, 1, 2).with(nnodes(2)).with(local(2)), letters("AB"), SourceBlocks,
			"A B A B",
		},
		{
			"two replicas over each pair of nodes", engineOf("mp", 2, 1, 1, 4).with(nnodes(4)).with(local(2)), letters("ABCD"),
			SourceBlocks, "A B A B C D C D",
		},
		{"one replica per host", engineOf("mp", 2, 1, 1, 2).with(local(1)), letters("AB"), SourceDataLocal, "A A B B"},
		{"two replicas per host", engineOf("mp", 1, 1, 1, 4).with(local(2)), letters("AB"), SourceDataLocal, "A A B B"},
		{"all replicas on one host", engineOf("mp", 1, 1, 1, 4).with(local(4)), letters("A"), SourceOneHost, "A A A A"},
		{
			"an external load balancer", engineOf("mp", 1, 1, 1, 2).with(func(e *Engine) { e.ExternalLB = true }), letters("AB"),
			SourceDataLocal, "A B",
		},
		{
			"a replica's own rank", engineOf("mp", 1, 1, 1, 2).with(func(e *Engine) { e.DataRank = pointer(0) }), letters("AB"),
			SourceDataLocal, "A B",
		},
		{
			"a rank that differs by node",
			engineOf("mp", 1, 1, 1, 2).with(func(e *Engine) { e.Unresolved = []Unresolved{{Setting: SettingDataRank}} }),
			letters("AB"), SourceDataLocal, "A B",
		},
		{"no nodes listed", engineOf("mp", 2, 1, 1, 1).with(nnodes(2)), nil, SourceBlocks, "node-0 node-1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := Place(&v1.Launch{Nodes: test.nodes}, test.engine)
			require.NoError(t, err)
			assert.Empty(t, p.Missing)
			assert.True(t, p.Known)
			assert.Equal(t, test.source, p.Source)
			assert.Equal(t, test.layout, layoutOf(p))
		})
	}
}

func TestPlacementThatCannotBeDerived(t *testing.T) {
	set := func(change func(*Engine)) *Engine { return engineOf("mp", 4, 1, 1, 1).with(change) }
	for _, test := range []struct {
		name    string
		engine  *Engine
		nodes   string
		missing []string
	}{
		{
			"ray", engineOf("ray", 2, 1, 1, 1), "A",
			[]string{`workers: executor "ray" decides at run time where ranks go; list each rank with its node`},
		},
		{
			"external_launcher", engineOf("external_launcher", 2, 1, 1, 1), "AB",
			[]string{`workers: executor "external_launcher" decides at run time where ranks go; list each rank with its node`},
		},
		{
			"an executor class", engineOf("pkg.Executor", 2, 1, 1, 1), "A",
			[]string{`workers: executor "pkg.Executor" decides at run time where ranks go; list each rank with its node`},
		},
		{
			"replicas placed by ray", engineOf("mp", 2, 1, 1, 2).with(func(e *Engine) { e.DataBackend = "ray" }), "A",
			[]string{"workers: the ray data-parallel backend decides at run time where replicas go; list each rank with its node"},
		},
		{
			"unknown sizes and executor", set(func(e *Engine) {
				e.Unresolved = []Unresolved{{SettingTensor, "$TP is not set"}, {SettingExecutor, "$EXECUTOR is not set"}}
			}), "A",
			[]string{"engine.parallel.tensor: $TP is not set", "engine.executor: $EXECUTOR is not set"},
		},
		{
			"unknown nnodes and local replicas", set(func(e *Engine) {
				e.Unresolved = []Unresolved{{SettingDataLocal, "$LOCAL is not set"}, {SettingNnodes, "$NODES is not set"}}
			}), "A",
			[]string{"engine.nnodes: $NODES is not set", "engine.parallel.data_local: $LOCAL is not set"},
		},
		{
			"sizes below 1", set(func(e *Engine) { e.Pipeline, e.Data = 0, -2 }), "A",
			[]string{"engine.parallel.pipeline: 0 is below 1", "engine.parallel.data: -2 is below 1"},
		},
		{"nnodes below 1", set(func(e *Engine) { e.Nnodes = 0 }), "A", []string{"engine.nnodes: 0 is below 1"}},
		{
			"ranks that do not divide", set(func(e *Engine) { e.Nnodes = 3 }), "ABC",
			[]string{"engine.nnodes: the 4 ranks of a replica do not divide over 3 nodes"},
		},
		{
			"nodes that do not divide", set(func(e *Engine) { e.Nnodes, e.Data, e.DataLocal = 3, 2, pointer(1) }), "ABC",
			[]string{"engine.nnodes: 3 nodes do not divide into 2 groups of 1 replicas"},
		},
		{
			"fewer nodes than groups of replicas", set(func(e *Engine) { e.Nnodes, e.Data, e.DataLocal = 2, 4, pointer(1) }), "AB",
			[]string{"engine.nnodes: 2 nodes do not divide into 4 groups of 1 replicas"},
		},
		{
			"replicas that do not divide", set(func(e *Engine) { e.Data, e.DataLocal = 4, pointer(3) }), "AB",
			[]string{"engine.parallel.data_local: 3 does not divide the 4 replicas"},
		},
		{
			"a head without replicas", set(func(e *Engine) { e.Data, e.DataLocal = 2, pointer(0) }), "A",
			[]string{"engine.parallel.data_local: 0 leaves open how many replicas each host runs"},
		},
		{"too many nodes", set(func(e *Engine) { e.Nnodes = 2 }), "ABC", []string{"nodes: 3 listed, 2 needed"}},
		{"too few nodes", set(func(e *Engine) { e.Nnodes = 2 }), "A", []string{"nodes: 1 listed, 2 needed"}},
		{"two hosts for one", set(func(*Engine) {}), "AB", []string{"nodes: 2 listed, 1 needed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			facts := fold(t, &v1.Launch{Nodes: letters(test.nodes)}, test.engine)
			assert.Equal(t, Placed{Source: SourceNone, Missing: test.missing}, facts.Placement)
			assert.Nil(t, facts.Groups)
			assert.Nil(t, facts.Replicas)
			require.Len(t, facts.Domains, len(test.nodes), "what nodes report does not depend on the ranks")
			assert.Nil(t, facts.Domains[0].Ranks, "a number that is not known is absent")
		})
	}
}

func TestAssumptions(t *testing.T) {
	two := engineOf("mp", 2, 1, 1, 1).with(func(e *Engine) { e.Nnodes = 2 })
	bare := "without a boot_id, equal node ids are taken as one host with one /dev/shm and different ids as different hosts"
	for _, test := range []struct {
		name    string
		launch  *v1.Launch
		engine  *Engine
		stage   string
		assumed []string
	}{
		{"facts prove it", &v1.Launch{Nodes: letters("AB")}, two, StageLaunch, nil},
		{"no nodes", &v1.Launch{}, two, StageLaunch, []string{"no nodes are listed: nodes node-0, node-1 stand for different hosts"}},
		{"no nodes and one host", &v1.Launch{}, engineOf("mp", 2, 1, 1, 1), StageLaunch, nil},
		{
			"nodes without boot ids", &v1.Launch{Nodes: []v1.Node{bareNode("A"), bareNode("B")}}, two, StageLaunch,
			[]string{"nodes A, B: " + bare},
		},
		{"the one host of mp", &v1.Launch{Nodes: []v1.Node{bareNode("A")}}, engineOf("mp", 2, 1, 1, 1), StageLaunch, nil},
		{
			"workers that say one node", &v1.Launch{Workers: []v1.Worker{{Rank: 0, Node: "A"}, {Rank: 1, Node: "A"}}},
			engineOf("ray", 2, 1, 1, 1), StageLaunch,
			[]string{"node A: " + bare},
		},
		{
			"nor at registration", &v1.Launch{Workers: []v1.Worker{{Rank: 0, Node: "A"}, {Rank: 1, Node: "A"}}},
			engineOf("ray", 2, 1, 1, 1), StageRegistration, nil,
		},
		{"nothing is assumed of containers", &v1.Launch{Nodes: []v1.Node{hostNode("A"), hostNode("B")}}, two, StageLaunch, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			facts := fold(t, test.launch, test.engine, FoldOptions{Stage: test.stage})
			assert.Equal(t, test.assumed, facts.Placement.Assumed)
		})
	}
}

func TestAssumptionNamesFewNodes(t *testing.T) {
	engine := engineOf("mp", 16, 1, 1, 1).with(func(e *Engine) { e.Nnodes = 16 })
	assert.Equal(t, []string{"no nodes are listed: nodes node-0, node-1, node-2, node-3, node-4, node-5, node-6, node-7 and 8 " +
		"more stand for different hosts"}, fold(t, &v1.Launch{}, engine).Placement.Assumed)
}

// At registration ranks are where their reports say, or nowhere.
func TestNothingIsDerivedAtRegistration(t *testing.T) {
	engine := engineOf("mp", 2, 1, 2, 1).with(func(e *Engine) { e.Nnodes = 2 })
	facts := fold(t, &v1.Launch{}, engine, FoldOptions{Stage: StageRegistration})
	assert.Equal(t, Placed{Source: SourceNone, Missing: []string{"workers: none reported"}}, facts.Placement)
	assert.Nil(t, facts.Groups)
}
