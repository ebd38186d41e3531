package rewrite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runtimeStrings has the two functions of OPA's runtime: a hash that is 99 for everything, and a comparison byte by
// byte that gives the difference of the first bytes that differ.
var runtimeStrings = module{functions: []function{
	{name: hashFunction, kind: typeUnary, locals: 3, body: []byte{opI32Const, 0xe3, 0}},
	{name: compareFunction, kind: typeHost, locals: 1, body: slices.Concat(
		[]byte{opBlock, blockEmpty, opLoop, blockEmpty, opLocalGet, 2, opI32Eqz, opBrIf, 1},
		[]byte{opLocalGet, 0, opI32Load8U, 0, 0, opLocalGet, 1, opI32Load8U, 0, 0, opI32Sub, opLocalTee, 3, opBrIf, 1},
		advance(0, 1), advance(1, 1), advance(2, 0x7f), []byte{opBr, 0, opEnd, opEnd, opLocalGet, 3},
	)},
	{name: unmarshalFunction, kind: typeUnary, body: []byte{opI32Const, 7}},
	{name: isValidFunction, kind: typeUnary, locals: 2, body: []byte{opI32Const, 8}},
	{name: setAddFunction, kind: typeBinary},
	{name: evalFunction, kind: typeEffect},
}}

const stringAt, textAt, otherAt = 1024, 4096, 32768

// hash has a module hash text as a value of the given type.
func (r *running) hash(tag byte, text []byte) uint32 {
	r.t.Helper()
	value := make([]byte, 12)
	value[0] = tag
	binary.LittleEndian.PutUint32(value[4:], uint32(len(text)))
	binary.LittleEndian.PutUint32(value[8:], textAt)
	require.True(r.t, r.Memory().Write(stringAt, value) && r.Memory().Write(textAt, text))
	return uint32(r.call(hashFunction, stringAt)[0])
}

func TestStringHash(t *testing.T) {
	_, r := rewritten(t, runtimeStrings)
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 200)
	for n := range text {
		for i := range text {
			text[i] = byte(random.Uint32())
		}
		want := StringHash(text[:n])
		assert.Equal(t, want, r.hash(tagString, text[:n]), "%d bytes", n)
		assert.Equal(t, want, r.hash(tagStringInterned, text[:n]), "%d bytes, interned", n)
	}
	for _, tag := range []byte{1, 2, 3, 5, 6, 7, 9} {
		assert.EqualValues(t, 99, r.hash(tag, []byte("text")), "other values are the runtime's business")
	}
}

// TestStringHashSpreads: tables take the lowest bits; no bucket may get many of names that differ in few characters.
func TestStringHashSpreads(t *testing.T) {
	for _, form := range []string{
		"%d", "n%d", "name%d", "rank%04d", "%08d", "node-%05d.cluster.example",
		"a long and equal beginning %d and an equal end",
	} {
		const names, buckets = 20_000, 1 << 15
		var load [buckets]int
		worst := 0
		for i := range names {
			slot := &load[StringHash(fmt.Appendf(nil, form, i))%buckets]
			*slot++
			worst = max(worst, *slot)
		}
		assert.Less(t, worst, 12, form)
	}
}

func TestStringCompare(t *testing.T) {
	_, r := rewritten(t, runtimeStrings)
	compare := func(a, b []byte) int {
		require.True(t, r.Memory().Write(textAt, a) && r.Memory().Write(otherAt, b))
		return int(int32(r.call(compareFunction, textAt, otherAt, uint64(len(a)))[0]))
	}
	for n := range 40 {
		a := bytes.Repeat([]byte{'x'}, n)
		assert.Zero(t, compare(a, bytes.Clone(a)), "%d bytes", n)
		for i := range a {
			b := bytes.Clone(a)
			b[i], b[n-1] = 'z', 'a'
			assert.Equal(t, int('x')-int(b[i]), compare(a, b), "%d bytes that differ at %d", n, i)
		}
	}
}

// TestLongStringsCost: what a string of 64 bytes and more costs is charged at once, and seen at the next check.
func TestLongStringsCost(t *testing.T) {
	_, r := rewritten(t, runtimeStrings)
	for n, want := range map[int]int{63: 0, 64: 8, 8000: 1000} {
		text := []byte(strings.Repeat("x", n))
		r.hash(tagString, text)
		assert.Equal(t, want, r.spent(hashFunction, stringAt), "%d bytes", n)
		require.True(t, r.Memory().Write(otherAt, text))
		assert.Equal(t, want, r.spent(compareFunction, textAt, otherAt, uint64(n)), "%d bytes", n)
	}
}
