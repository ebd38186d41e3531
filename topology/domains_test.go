package topology

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func (r relation) String() string { return [...]string{"unknown", "shared", "apart"}[r] }

// classified reads and classifies nodes.
func classified(t require.TestingT, stage string, list ...v1.Node) nodes {
	n, err := readNodes(&v1.Launch{Nodes: list})
	require.NoError(t, err)
	n.classify(stage)
	return n
}

func TestRelationOfTwoNodes(t *testing.T) {
	noDevice := v1.Node{ID: "b", BootID: "boot-1"}
	noBoot := fullNode("b", "", "0:27")
	for _, test := range []struct {
		name                 string
		a, b                 v1.Node
		launch, registration relation
	}{
		{"same boot id, same device", fullNode("a", "boot-1", "0:27"), fullNode("b", "boot-1", "0:27"), shared, shared},
		{"same boot id, other device", fullNode("a", "boot-1", "0:61"), fullNode("b", "boot-1", "0:74"), apart, apart},
		{"other boot id, same device", fullNode("a", "boot-1", "0:27"), fullNode("b", "boot-2", "0:27"), apart, apart},
		{"same boot id, no device", fullNode("a", "boot-1", "0:27"), noDevice, unknown, unknown},
		{"other boot id, no device", fullNode("a", "boot-2", "0:27"), noDevice, apart, unknown},
		{"no boot id", fullNode("a", "boot-1", "0:27"), bareNode("b"), unknown, unknown},
		{"no boot ids", bareNode("a"), bareNode("b"), apart, unknown},
		{"no boot ids, same device", fullNode("a", "", "0:27"), noBoot, apart, unknown},
		{"no boot ids, one with the host's /dev/shm", bareNode("a"), hostNode("b"), apart, unknown},
		{"no boot ids, both with a host's /dev/shm", hostNode("a"), hostNode("b"), unknown, unknown},
		{"boot id against the host's /dev/shm", fullNode("a", "boot-1", "0:27"), hostNode("b"), unknown, unknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			for stage, want := range map[string]relation{StageLaunch: test.launch, StageRegistration: test.registration} {
				n := classified(t, stage, test.a, test.b)
				assert.Equal(t, want.String(), n.relate(0, 1).String(), stage)
				assert.Equal(t, want.String(), n.relate(1, 0).String(), stage+", the other way round")
				assert.Equal(t, shared.String(), n.relate(0, 0).String(), "a node shares memory with itself")
				assert.Equal(t, want == shared, n.domains == 1, "nodes that share memory are one domain: "+stage)
			}
		})
	}
}

// drawNode draws a node with few enough different facts that nodes are often alike.
func drawNode(t *rapid.T, id string) v1.Node {
	n := v1.Node{ID: id, BootID: rapid.SampledFrom([]string{"", "boot-1", "boot-2"}).Draw(t, "boot id")}
	if rapid.Bool().Draw(t, "has shm") {
		n.Shm = &v1.Shm{
			Device: rapid.SampledFrom([]string{"", "0:27", "0:61"}).Draw(t, "device"),
			Host:   rapid.Bool().Draw(t, "host"),
		}
	}
	return n
}

func drawNodes(t *rapid.T, most int) []v1.Node {
	list := make([]v1.Node, rapid.IntRange(1, most).Draw(t, "nodes"))
	for i := range list {
		list[i] = drawNode(t, fmt.Sprintf("node-%d", i))
	}
	return list
}

// pairRelation is the rule for two nodes, written down from the raw facts alone.
func pairRelation(a, b v1.Node, stage string) relation {
	device := func(n v1.Node) string {
		if n.Shm == nil {
			return ""
		}
		return n.Shm.Device
	}
	host := func(n v1.Node) bool { return n.Shm != nil && n.Shm.Host }
	full := a.BootID != "" && b.BootID != "" && device(a) != "" && device(b) != ""
	switch {
	case a.ID == b.ID:
		return shared
	case full && a.BootID == b.BootID && device(a) == device(b):
		return shared
	case full:
		return apart
	case stage == StageRegistration:
		return unknown
	case a.BootID != "" && b.BootID != "" && a.BootID != b.BootID:
		return apart
	case a.BootID == "" && b.BootID == "" && !(host(a) && host(b)):
		return apart
	default:
		return unknown
	}
}

// One pass over the ranks of a group must say what comparing all pairs does.
func TestSpreadAgreesWithAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stage := rapid.SampledFrom([]string{StageLaunch, StageRegistration}).Draw(t, "stage")
		list := drawNodes(t, 6)
		n := classified(t, stage, list...)
		// The index below 0 is a rank without a node.
		ranks := rapid.SliceOfN(rapid.IntRange(-1, len(list)-1), 2, 8).Draw(t, "ranks")

		want := shared
		var s spread
		for i, at := range ranks {
			if at < 0 {
				s.add(nil)
			} else {
				s.add(&n.list[at])
			}
			for _, other := range ranks[:i] {
				pair := unknown
				if at >= 0 && other >= 0 {
					pair = pairRelation(list[at], list[other], stage)
				}
				if pair == apart || pair == unknown && want == shared {
					want = pair
				}
			}
		}
		require.Equal(t, want.String(), s.relation().String())
	})
}

func TestMissingFactsOfNodes(t *testing.T) {
	n := classified(t, StageLaunch, fullNode("a", "boot-1", "0:27"), v1.Node{ID: "b", BootID: "boot-1"},
		fullNode("c", "", "0:27"), bareNode("d"))
	want := []string{"", "shm.device of node b", "boot_id of node c", "boot_id and shm.device of node d"}
	for i := range n.list {
		assert.Equal(t, want[i], n.list[i].missing())
	}
}
