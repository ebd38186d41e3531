package topology

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRankList(t *testing.T) {
	everySecond := func(n int64) (list []int64) {
		for i := range n {
			list = append(list, 2*i)
		}
		return list
	}
	sixteen := "ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30"
	for _, test := range []struct {
		want  string
		ranks []int64
	}{
		{"", nil},
		{"rank 3", []int64{3}},
		{"ranks 0-1", []int64{0, 1}},
		{"ranks 0, 2", []int64{0, 2}},
		{"ranks 0-3, 8", []int64{0, 1, 2, 3, 8}},
		{"ranks 0, 2, 1, 3", []int64{0, 2, 1, 3}},
		{"ranks 4, 4", []int64{4, 4}},
		{"ranks -1, 9223372036854775807", []int64{-1, math.MaxInt64}},
		{sixteen, everySecond(16)},
		{sixteen + " and 1 more", everySecond(17)},
		{sixteen + " and 84 more", everySecond(100)},
		{sixteen + "-32 and 3 more", append(everySecond(16), 31, 32, 40, 41, 42)},
	} {
		assert.Equal(t, test.want, RankList(test.ranks))
	}
}

func TestIDList(t *testing.T) {
	ids := strings.Split("a b c d e f g h i j", " ")
	assert.Equal(t, "node a", idList(ids[:1]))
	assert.Equal(t, "nodes a, b", idList(ids[:2]))
	assert.Equal(t, "nodes a, b, c, d, e, f, g, h", idList(ids[:8]))
	assert.Equal(t, "nodes a, b, c, d, e, f, g, h and 1 more", idList(ids[:9]))
}
