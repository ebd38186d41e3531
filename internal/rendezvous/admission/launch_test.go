package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
)

func ranked(facts ...v1.NodeFacts) []admission.Ranked {
	list := make([]admission.Ranked, len(facts))
	for i := range facts {
		list[i] = admission.Ranked{Rank: int64(i), Report: &v1.Report{WorldSize: int64(len(facts)), Facts: facts[i]}}
	}
	return list
}

// located are the facts of a rank whose domain is known.
func located(node, boot, device string, change ...func(*v1.NodeFacts)) v1.NodeFacts {
	f := v1.NodeFacts{Node: node, BootID: boot, Shm: &v1.ShmFacts{Device: device}}
	for _, c := range change {
		c(&f)
	}
	return f
}

func inPod(pod string) func(*v1.NodeFacts) { return func(f *v1.NodeFacts) { f.Pod = pod } }

func nodesOf(launch *v1.Launch) (names []string) {
	for _, w := range launch.Workers {
		names = append(names, w.Node)
	}
	return names
}

// Names are for people, so that they must tell nodes apart and must never make one node of two.
func TestNodesOfRanks(t *testing.T) {
	a := located("gpu-a", "boot-a", "0:27")
	for _, test := range []struct {
		name  string
		ranks []v1.NodeFacts
		want  []string
	}{
		{"one node", []v1.NodeFacts{a, a}, []string{"gpu-a", "gpu-a"}},
		{"two nodes of one host", []v1.NodeFacts{a, located("gpu-b", "boot-a", "0:27")}, []string{"gpu-a", "gpu-b"}},
		{
			"two hosts of one name",
			[]v1.NodeFacts{a, located("gpu-a", "boot-b", "0:27"), a},
			[]string{"gpu-a", "gpu-a #2", "gpu-a"},
		},
		{
			"two mounts of one host",
			[]v1.NodeFacts{a, located("gpu-a", "boot-a", "0:28"), located("gpu-a", "boot-a", "0:29")},
			[]string{"gpu-a", "gpu-a #2", "gpu-a #3"},
		},
		{
			"pods",
			[]v1.NodeFacts{located("gpu-a", "boot-a", "0:61", inPod("x")), located("gpu-a", "boot-a", "0:62", inPod("y"))},
			[]string{"gpu-a (pod x)", "gpu-a (pod y)"},
		},
		{
			"pods with one mount",
			[]v1.NodeFacts{located("gpu-a", "boot-a", "0:61", inPod("x")), located("gpu-a", "boot-a", "0:61", inPod("y"))},
			[]string{"gpu-a", "gpu-a"},
		},
		{
			"two mounts of one pod",
			[]v1.NodeFacts{located("gpu-a", "boot-a", "0:61", inPod("x")), located("gpu-a", "boot-a", "0:62", inPod("x"))},
			[]string{"gpu-a (pod x)", "gpu-a (pod x) #2"},
		},
		{
			"withheld facts",
			[]v1.NodeFacts{
				a,
				{Node: "gpu-a"},
				located("gpu-a", "", "0:27"), located("gpu-a", "boot-a", ""), located("gpu-a", "", "0:27"),
				located("gpu-a", "boot-a", ""),
				{Node: "gpu-a"},
				a,
			},
			[]string{
				"gpu-a", "gpu-a (rank 1)", "gpu-a (rank 2)", "gpu-a (rank 3)", "gpu-a (rank 4)", "gpu-a (rank 5)", "gpu-a (rank 6)", "gpu-a",
			},
		},
		{
			"no names",
			[]v1.NodeFacts{{}, {}, {Hostname: "host"}, {Pod: "pod"}},
			[]string{"a node without a name (rank 0)", "a node without a name (rank 1)", "host", "pod"},
		},
		{
			"names that look made up here",
			[]v1.NodeFacts{located("n #2", "boot-a", "0:1"), located("n", "boot-a", "0:2"), located("n", "boot-a", "0:3")},
			[]string{"n #2", "n", "n #3"},
		},
		{
			"hostile names",
			[]v1.NodeFacts{located(" x\n\x1b[2Jy\xff ", "boot-a", "0:1"), located(strings.Repeat("n", 200), "boot-b", "0:1")},
			[]string{"x  [2Jy", strings.Repeat("n", 96) + "..."},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, nodesOf(admission.Launch("e", 1, ranked(test.ranks...))))
		})
	}
}

func TestFactsOfNodes(t *testing.T) {
	sizes := func(total, free, limit int64, stale ...v1.StaleRegion) func(*v1.NodeFacts) {
		return func(f *v1.NodeFacts) {
			f.Shm.TotalBytes, f.Shm.FreeBytes, f.Shm.StaleRegions = &total, &free, stale
			f.Memory = &v1.MemoryFacts{LimitBytes: &limit}
		}
	}
	file := func(name string, bytes int64) v1.StaleRegion { return v1.StaleRegion{Name: name, Bytes: bytes} }
	launch := admission.Launch("e", 1, ranked(
		located("gpu-a", "boot-a", "0:27", sizes(100, 70, 500, file("one", 1), file("two", 2))),
		located("gpu-a", "boot-a", "0:27", sizes(100, 60, 600, file("two", 3), file("three", -9))),
		located("gpu-a", "boot-a", "0:27"),
		located("gpu-b", "boot-b", "0:27", sizes(-1, -1, -1), func(f *v1.NodeFacts) {
			f.Shm.StaleRegions, f.Hostname = []v1.StaleRegion{}, "worker-b"
		}),
		v1.NodeFacts{Node: "gpu-c"},
	))
	assert.Equal(t, []v1.Node{
		{
			ID: "gpu-a", BootID: "boot-a", Memory: &v1.Memory{LimitBytes: pointer(int64(500))},
			Shm: &v1.Shm{
				Device: "0:27", TotalBytes: pointer(int64(100)), FreeBytes: pointer(int64(60)),
				StaleRegions: []v1.StaleRegion{{Name: "one", Bytes: 1}, {Name: "two", Bytes: 3}, {Name: "three"}},
			},
		},
		{ID: "gpu-b", BootID: "boot-b", Hostname: "worker-b", Shm: &v1.Shm{Device: "0:27", StaleRegions: []v1.StaleRegion{}}},
		{ID: "gpu-c"},
	}, launch.Nodes, "sizes below 0 are none")
}

// What the ranks were told is compared by the policy; the engine is that of the world that is complete.
func TestEngineOfReports(t *testing.T) {
	reports := ranked(located("gpu-a", "boot-a", "0:27"), located("gpu-a", "boot-a", "0:27"))
	for i, size := range []int64{8, 2} {
		r := reports[i].Report
		r.WorldSize, r.Groups = size, map[string][]int64{"tp": {0, 1}}
		r.Configuration = v1.Configuration{
			Version: fmt.Sprint("0.3", i), Executor: "mp", Nnodes: pointer(int64(2)), Parallel: &v1.Parallel{Tensor: &r.WorldSize},
			KVTransfer: []byte(`{}`),
		}
	}
	launch := admission.Launch("engine-a.dp1", 2, reports)
	second := &reports[1].Report.Configuration
	assert.Equal(t, v1.Engine{
		ID: "engine-a.dp1", Version: "0.31", Executor: "mp", Nnodes: second.Nnodes, Parallel: second.Parallel,
		KVTransfer: second.KVTransfer,
	}, launch.Engine)
	assert.Equal(t, []v1.Worker{
		{
			Rank: 0, Node: "gpu-a", Version: "0.30", Groups: map[string][]int64{"tp": {0, 1}}, WorldSize: 8,
			Config: &reports[0].Report.Configuration,
		},
		{Rank: 1, Node: "gpu-a", Version: "0.31", Groups: map[string][]int64{"tp": {0, 1}}, WorldSize: 2, Config: second},
	}, launch.Workers)
}

func TestDomains(t *testing.T) {
	assert.Equal(t, []int64{0, 1, -1, 2, 0, -1, -1}, admission.Domains(ranked(
		located("a", "boot-a", "0:27"), located("b", "boot-b", "0:27"), located("a", "", "0:27"), located("a", "boot-a", "0:28"),
		located("other", "boot-a", "0:27"), located("a", "boot-a", ""), v1.NodeFacts{},
	)))
}

func TestLocated(t *testing.T) {
	nodes := []string{"a", "b", "a", "a"}
	on := func(rank int64) string { return nodes[rank] }
	assert.Equal(t, "ranks 0, 2-3 on a, rank 1 on b", admission.Located([]int64{0, 1, 2, 3}, on))
	assert.Empty(t, admission.Located(nil, on))
	many := make([]int64, 100)
	for i := range many {
		many[i] = int64(i)
	}
	assert.Equal(t, "rank 0 on n0, rank 1 on n1, rank 2 on n2, rank 3 on n3, rank 4 on n4, rank 5 on n5, rank 6 on n6, rank 7 on n7, "+
		"the rest on 92 more nodes", admission.Located(many, func(rank int64) string { return fmt.Sprint("n", rank) }))
	assert.Equal(t, "a node without a name", admission.NodeName(nil))
}
