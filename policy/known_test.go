package policy

import (
	"bytes"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKnownVerdicts: an equal launch gets the same bytes, another one, another minute or another revision does not.
func TestKnownVerdicts(t *testing.T) {
	clock := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	e := newEngine(t, Options{Now: func() time.Time { return clock }})
	fresh := newEngine(t, Options{Now: func() time.Time { return clock }, Verdicts: -1})
	remembered := func() int { return e.current.Load().verdicts.verdicts.Len() }
	for i := range 3 {
		for _, node := range []string{"gpu-a", "gpu-b"} {
			launch := twoNodes(t, "gpu-a", node)
			got, err := e.Decide(t.Context(), launch)
			require.NoError(t, err)
			want, err := fresh.Decide(t.Context(), launch)
			require.NoError(t, err)
			assert.Equal(t, want, got, "round %d", i)
			clear(got.JSON) // which must change nobody else's answer
		}
	}
	assert.Equal(t, 2, remembered())
	clock = clock.Add(time.Minute)
	decide(t, e, twoNodes(t, "gpu-a", "gpu-a"))
	assert.Equal(t, 3, remembered())
	require.NoError(t, e.Swap(t.Context(), nil, []byte(`{"site": 1}`)))
	assert.Zero(t, remembered())
}

func TestKnownVerdictsAreBounded(t *testing.T) {
	k := newKnown(2)
	key := func(i byte) [sha256.Size]byte { return [sha256.Size]byte{i} }
	for i := range byte(3) {
		k.add(key(i), Decision{JSON: []byte{i}})
	}
	_, first := k.get(key(0))
	_, last := k.get(key(2))
	assert.False(t, first)
	assert.True(t, last)
	k.add(key(9), Decision{JSON: bytes.Repeat([]byte{' '}, maxKnownBytes+1)})
	_, huge := k.get(key(9))
	assert.False(t, huge)
	_, found := (*known)(nil).get(key(1))
	assert.False(t, found)
}
