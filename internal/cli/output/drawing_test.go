package output

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestLetter(t *testing.T) {
	for i, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 51: "AZ", 52: "BA", 701: "ZZ", 702: "AAA"} {
		assert.Equal(t, want, letter(i))
	}
}

func launchOf(tensor, pipeline int64, node func(rank int64) string) *v1.Launch {
	launch := &v1.Launch{Engine: v1.Engine{
		Parallel: &v1.Parallel{Tensor: &tensor, Pipeline: &pipeline}, Executor: "external_launcher",
	}}
	for rank := range tensor * pipeline {
		launch.Workers = append(launch.Workers, v1.Worker{Rank: rank, Node: node(rank)})
	}
	return launch
}

// The grid of any launch fits the page, whatever the number of ranks, nodes and the length of their names, as long as one
// run does.
func TestGridFitsThePage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,25}`), 1, 40).Draw(t, "names")
		at := rapid.SliceOfN(rapid.IntRange(0, len(names)-1), 1, 200).Draw(t, "at")
		tensor := rapid.Int64Range(1, 200).Draw(t, "tensor")
		launch := launchOf(tensor, rapid.Int64Range(1, 20).Draw(t, "pipeline"), func(rank int64) string {
			return names[at[rank%int64(len(at))]]
		})
		l := newLayout(launch)
		require.NotNil(t, l)
		p := &page{Style: Style{Width: rapid.IntRange(minWidth, maxWidth).Draw(t, "width")}}
		p.grid(l)
		for line := range strings.Lines(p.b.String()) {
			assert.LessOrEqual(t, visible(strings.TrimSuffix(line, "\n")), p.Width, p.b.String())
		}
	})
}

// Every rank of a verbose grid that is drawn in cells is on the page, once.
func TestGridHasEveryRank(t *testing.T) {
	launch := launchOf(4, 40, func(rank int64) string { return fmt.Sprintf("n%d", rank%7) })
	p := &page{Style: Style{Width: 100, Verbose: true}}
	p.grid(newLayout(launch))
	for rank := range 160 {
		assert.Equal(t, 1, strings.Count(p.b.String(), fmt.Sprintf("%3d n%d*", rank, rank%7)), "rank %d", rank)
	}
}

func TestNoGridWithoutSizes(t *testing.T) {
	zero := int64(0)
	assert.Nil(t, newLayout(&v1.Launch{Engine: v1.Engine{Parallel: &v1.Parallel{Tensor: &zero}}}))
	assert.Nil(t, newLayout(&v1.Launch{Engine: v1.Engine{Command: []string{"ls"}}}))
	assert.Nil(t, newLayout(nil))
}

func BenchmarkGrid(b *testing.B) {
	launch := launchOf(8, 512, func(rank int64) string { return fmt.Sprintf("node-%d", rank/8) })
	for b.Loop() {
		p := &page{Style: Style{Width: 100, Verbose: true}}
		p.grid(newLayout(launch))
	}
}
