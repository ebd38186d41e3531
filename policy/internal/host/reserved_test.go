package host

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero/experimental"
)

func TestMemories(t *testing.T) {
	for name, m := range map[string]experimental.LinearMemory{"reserved": newMemory(10 * pageSize), "copied": &copied{}} {
		t.Run(name, func(t *testing.T) {
			b := m.Reallocate(pageSize)
			require.Len(t, b, pageSize)
			b[0], b[pageSize-1] = 1, 2
			grown := m.Reallocate(10 * pageSize)
			require.Len(t, grown, 10*pageSize)
			assert.Equal(t, []byte{1, 2, 0}, []byte{grown[0], grown[pageSize-1], grown[pageSize]})
			if _, stays := m.(*copied); !stays {
				assert.Same(t, unsafe.SliceData(b), unsafe.SliceData(grown), "it grows where it is")
				assert.Nil(t, m.Reallocate(11*pageSize))
			}
			m.Free()
			m.Free()
		})
	}
}

// TestMemoryIsGivenBack: closing an instance frees its memory at once.
func TestMemoryIsGivenBack(t *testing.T) {
	m := loadModule(t, roomy, "{}", []string{"p/q"}, "package p\nq := count(input)")
	text := []byte("[" + strings.Repeat("1000,", 1<<20) + "1]")
	before := resident(t)
	for range 10 {
		in, err := m.Instantiate(t.Context())
		require.NoError(t, err)
		_, _, err = in.Eval(t.Context(), 0, text, nil)
		require.NoError(t, err)
		assert.Greater(t, in.mem.Size(), uint32(30<<20))
		in.Close(t.Context())
	}
	assert.Less(t, resident(t), before+100<<20)
}

// resident is the memory that the process has now.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc")
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	require.NoError(t, err)
	return pages * os.Getpagesize()
}
