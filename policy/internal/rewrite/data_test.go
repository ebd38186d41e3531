package rewrite

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dataAt is a data segment with a plain offset.
func dataAt(offset int32, size uint32) []byte {
	return slices.Concat(appendS32([]byte{0, opI32Const}, offset), []byte{opEnd}, sized(make([]byte, size)))
}

// TestDataNeedsMemory: the compiler declares less memory than its data needs where that ends beyond the declared
// pages.
func TestDataNeedsMemory(t *testing.T) {
	for _, c := range []struct {
		segments [][]byte
		pages    uint32
	}{
		{nil, 1},
		{[][]byte{dataAt(0, 10)}, 1},
		{[][]byte{dataAt(65526, 10)}, 1},
		{[][]byte{dataAt(65527, 10)}, 2},
		{[][]byte{dataAt(65536, 0)}, 1},
		{[][]byte{dataAt(65537, 0)}, 2},
		{[][]byte{dataAt(200_000, 1), dataAt(5, 5)}, 4},
		{[][]byte{dataAt(0, 70_000)}, 2},
	} {
		m := plain
		m.tail = [][]byte{sec(sectionData, vec(c.segments...))}
		out, r := rewritten(t, m)
		assert.Equal(t, c.pages, out.MinPages)
		assert.Equal(t, c.pages*pageSize, r.Memory().Size(), "the segments fit, or the engine would refuse")
	}
}

func TestDataRefused(t *testing.T) {
	for _, c := range []struct {
		segment []byte
		want    string
	}{
		{dataAt(16*pageSize, 1), "unsupported module: its data needs 17 pages of memory, the limit is 16"},
		{[]byte{1, 0}, "read data: at byte 5: unsupported module: a data segment has no plain offset"},
		{[]byte{0, opGlobalGet, 0, opEnd, 0}, "read data: at byte 5: unsupported module: a data segment has no plain offset"},
		{dataAt(-1, 1), "read data: at byte 5: unsupported module: a data segment has no plain offset"},
		{dataAt(0, 5)[:6], "read data: at byte 6: ends early"},
	} {
		m := plain
		body := vec(c.segment)
		if c.segment[0] == 1 {
			body = append(body, 0, 0, 0)
		}
		m.tail = [][]byte{sec(sectionData, body)}
		_, err := Rewrite(m.bytes(), options())
		require.EqualError(t, err, c.want)
	}
}

func TestHashWithManyLocals(t *testing.T) {
	m := module{functions: slices.Clone(runtimeStrings.functions)}
	m.functions[0].locals = maxLocals + 1
	_, err := Rewrite(m.bytes(), options())
	require.EqualError(t, err, "rewrite code: at byte 9: function 2 (opa_value_hash): unsupported module: "+
		"it has 101 local variables")
}
