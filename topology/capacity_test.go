package topology

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// offload gives an engine native connectors with these region sizes.
func offload(sizes ...int64) func(*Engine) {
	return func(e *Engine) {
		e.Transfer.Given = true
		for _, size := range sizes {
			e.Transfer.Connectors = append(e.Transfer.Connectors, Connector{Native: true, CPUBytes: size})
		}
	}
}

// load is what a domain must hold.
type load struct {
	nodes            string
	ranks            int64
	replicas         []int64
	region, resident int64
}

func loads(list []Domain) []load {
	var found []load
	for _, d := range list {
		l := load{nodes: fmt.Sprint(d.Nodes), ranks: *d.Ranks, replicas: d.Replicas, region: -1, resident: -1}
		if d.RegionBytes != nil {
			l.region, l.resident = *d.RegionBytes, *d.ResidentBytes
		}
		found = append(found, l)
	}
	return found
}

func TestDemandOfDomains(t *testing.T) {
	for _, test := range []struct {
		name   string
		launch *v1.Launch
		engine *Engine
		core   string
		want   []load
	}{
		{
			"no offload", placed("AB"), engineOf("mp", 2, 1, 1, 1), "",
			[]load{{"[A]", 1, []int64{0}, -1, -1}, {"[B]", 1, []int64{0}, -1, -1}},
		},
		{
			"the core's node holds all, the other its slots", placed("AAAB"), engineOf("mp", 4, 1, 1, 1).with(offload(1000)), "",
			[]load{{"[A]", 3, []int64{0}, 1000, 1000}, {"[B]", 1, []int64{0}, 1000, 250}},
		},
		{
			"slots are rounded up", placed("AAB"), engineOf("mp", 3, 1, 1, 1).with(offload(1000)), "",
			[]load{{"[A]", 2, []int64{0}, 1000, 1000}, {"[B]", 1, []int64{0}, 1000, 334}},
		},
		{
			"a core that is not known is nowhere", placed("AAB"), engineOf("ray", 3, 1, 1, 1).with(offload(900)), "",
			[]load{{"[A]", 2, []int64{0}, 900, 600}, {"[B]", 1, []int64{0}, 900, 300}},
		},
		{
			"a core that is given", placed("AAB"), engineOf("ray", 3, 1, 1, 1).with(offload(900)), "B",
			[]load{{"[A]", 2, []int64{0}, 900, 600}, {"[B]", 1, []int64{0}, 900, 900}},
		},
		{
			"a region for each replica, once", placed("AAAABB"), engineOf("mp", 2, 1, 1, 3).with(offload(100)), "",
			[]load{{"[A]", 4, []int64{0, 1}, 200, 200}, {"[B]", 2, []int64{2}, 100, 100}},
		},
		{
			"connectors add up", placed("A"), engineOf("uni", 1, 1, 1, 1).with(offload(100, 20, 0)), "",
			[]load{{"[A]", 1, []int64{0}, 120, 120}},
		},
		{
			"sums stay within int64", placed("AA"), engineOf("mp", 1, 1, 1, 2).with(offload(math.MaxInt64, 1)), "",
			[]load{{"[A]", 2, []int64{0, 1}, math.MaxInt64, math.MaxInt64}},
		},
		{
			"a missing rank's slot counts nowhere", placed("AA.A"), engineOf("ray", 4, 1, 1, 1).with(offload(400)), "",
			[]load{{"[A]", 3, []int64{0}, 400, 300}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.core != "" {
				test.launch.Core = &v1.Core{Node: test.core}
			}
			assert.Equal(t, test.want, loads(fold(t, test.launch, test.engine).Domains))
		})
	}
}

func TestRegionsThatAreNotVLLMsOwn(t *testing.T) {
	engine := engineOf("uni", 1, 1, 1, 1).with(offload(100))
	engine.Transfer.Connectors[0].Native = false
	assert.Nil(t, fold(t, placed("A"), engine).Domains[0].RegionBytes, "the size of a foreign spec's region is not known")
	engine = engineOf("uni", 1, 1, 1, 1).with(offload(100))
	engine.Unresolved = []Unresolved{{Setting: SettingTransfer}}
	assert.Nil(t, fold(t, placed("A"), engine).Domains[0].RegionBytes)
}

// The head node of a Ray cluster holds no rank, and that is known.
func TestDomainWithoutRanks(t *testing.T) {
	launch := placed("AA")
	launch.Nodes = letters("HA")
	launch.Core = &v1.Core{Node: "H"}
	head := fold(t, launch, engineOf("ray", 2, 1, 1, 1).with(offload(100))).Domains[0]
	assert.Equal(t, []string{"H"}, head.Nodes)
	assert.Equal(t, int64(0), *head.Ranks)
	assert.Empty(t, head.Replicas)
	assert.Equal(t, int64(0), *head.RegionBytes)
}

func TestSmallestNumbersOfADomain(t *testing.T) {
	a, b := fullNode("a", "boot-1", "0:27"), fullNode("b", "boot-1", "0:27")
	a.Shm.TotalBytes, a.Shm.FreeBytes, a.Memory = pointer(100), pointer(70), &v1.Memory{}
	b.Shm.TotalBytes, b.Shm.FreeBytes, b.Memory = pointer(100), pointer(60), &v1.Memory{LimitBytes: pointer(50)}
	for _, nodes := range [][]v1.Node{{a, b}, {b, a}} {
		list := fold(t, &v1.Launch{Nodes: nodes}, engineOf("mp", 2, 1, 1, 1)).Domains
		require.Len(t, list, 1)
		assert.Equal(t, int64(100), *list[0].ShmTotalBytes)
		assert.Equal(t, int64(60), *list[0].ShmFreeBytes)
		assert.Equal(t, int64(50), *list[0].MemoryLimitBytes)
		assert.Nil(t, list[0].StaleRegions, "nobody looked for files")
	}
}

func TestStaleRegions(t *testing.T) {
	file := func(name string, bytes int64) v1.StaleRegion { return v1.StaleRegion{Name: name, Bytes: bytes} }
	nodes := []v1.Node{
		fullNode("a", "boot-1", "0:27"), fullNode("b", "boot-1", "0:27"), fullNode("c", "boot-2", "0:27"),
		fullNode("d", "boot-3", "0:27"), fullNode("e", "boot-4", "0:27"),
	}
	nodes[0].Shm.StaleRegions = []v1.StaleRegion{file("two", 20), file("one", 10)}
	nodes[1].Shm.StaleRegions = []v1.StaleRegion{file("one", 11), file("three", 30)}
	nodes[2].Shm.StaleRegions = []v1.StaleRegion{}
	for i := range 10 {
		nodes[4].Shm.StaleRegions = append(nodes[4].Shm.StaleRegions, file(fmt.Sprintf("file-%d", 9-i), math.MaxInt64))
	}
	list := fold(t, &v1.Launch{Nodes: nodes}, engineOf("ray", 1, 1, 1, 1)).Domains
	require.Len(t, list, 4)
	assert.Equal(t, &Stale{Count: 3, Bytes: 61, Names: []string{"one", "three", "two"}}, list[0].StaleRegions,
		"two containers see the same file")
	assert.Equal(t, &Stale{Names: []string{}}, list[1].StaleRegions, "looked for, none there")
	assert.Nil(t, list[2].StaleRegions, "not looked for")
	assert.Equal(t, &Stale{
		Count: 10, Bytes: math.MaxInt64,
		Names: []string{"file-0", "file-1", "file-2", "file-3", "file-4", "file-5", "file-6", "file-7"},
	}, list[3].StaleRegions)
}

func TestSlotsRoundUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		region := rapid.Int64Range(0, math.MaxInt64).Draw(t, "region")
		world := rapid.Int64Range(1, MaxRanks).Draw(t, "world")
		ranks := rapid.Int64Range(0, world).Draw(t, "ranks")
		want := new(big.Int).Mul(big.NewInt(region), big.NewInt(ranks))
		want.Add(want, big.NewInt(world-1)).Div(want, big.NewInt(world))
		require.Equal(t, want.Int64(), slots(region, ranks, world))
	})
}

func TestSpanningReplicas(t *testing.T) {
	facts := fold(t, placed("AABABBBCCC"), engineOf("ray", 5, 1, 1, 2)).Replicas
	assert.Equal(t, &Replicas{Count: 2, Spanning: []SpanningReplica{
		{Replica: 0, Nodes: []string{"A", "B"}, Domains: 2, LargestShare: 3},
		{Replica: 1, Nodes: []string{"B", "C"}, Domains: 2, LargestShare: 3},
	}}, facts)
	facts = fold(t, placed("AABB"), engineOf("ray", 2, 1, 1, 2)).Replicas
	assert.Equal(t, &Replicas{Count: 2, Spanning: []SpanningReplica{}}, facts)
	assert.Empty(t, fold(t, placed("..AA"), engineOf("ray", 2, 1, 1, 2)).Replicas.Spanning, "a replica without any node")
}
