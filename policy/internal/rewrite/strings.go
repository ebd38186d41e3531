package rewrite

import (
	"encoding/binary"
	"slices"
)

// Most of what rules do is look up members of objects, which in OPA's runtime means to hash a name byte by byte (FNV)
// and to compare it byte by byte. Here both take eight bytes at a time. The runtime uses the hash for nothing but its
// own tables, so another one changes no result; StringHash is the same function in Go for who writes such tables.

// hashSeed and hashFactor are those of a multiplicative hash (Fibonacci hashing, Knuth volume 3, section 6.4).
const (
	hashSeed   = 0x2545f4914f6cdd1d
	hashFactor = 0x9e3779b97f4a7c15
)

// StringHash is the hash of a string in a rewritten module. It takes words of eight bytes, the last of which may
// overlap the one before; of shorter strings the ends and the middle make one word.
func StringHash(s []byte) uint32 {
	h, n := hashSeed^uint64(len(s)), len(s)
	switch {
	case n >= 8:
		for i := 0; i+8 < n; i += 8 {
			h = mix(h, binary.LittleEndian.Uint64(s[i:]))
		}
		h ^= binary.LittleEndian.Uint64(s[n-8:])
	case n >= 4:
		h ^= uint64(binary.LittleEndian.Uint32(s)) | uint64(binary.LittleEndian.Uint32(s[n-4:]))<<32
	case n > 0:
		h ^= uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16
	}
	return uint32(mix(mix(h, 0), 0))
}

// mix takes the product's upper half into the lower one, since tables use the lowest bits and these depend on the
// lowest bits alone in a product. The top bytes of a word get there only with the next mix, hence the last one.
func mix(h, word uint64) uint64 {
	h = (h ^ word) * hashFactor
	return h ^ h>>32
}

// The runtime's functions that get a prologue, and the tags of its strings (wasm/src/value.h).
const (
	hashFunction      = "opa_value_hash"
	compareFunction   = "opa_strncmp"
	tagString         = 4
	tagStringInterned = 8
)

// maxLocals keeps the indexes of new locals in one byte.
const maxLocals = 100

// hashPrologue is put before the body of opa_value_hash(node): strings, {tag u8, _, length, *text}, are answered by
// StringHash, anything else goes on as before. h (i64), p and n (i32) are new locals from first on.
func (m *rewriter) hashPrologue(first byte) []byte {
	h, p, n := first, first+1, first+2
	b := append(ifString(), opLocalGet, 0, opI32Load, 2, 8, opLocalSet, p, opI64Const)
	b = append(appendS64(b, hashSeed), opLocalGet, 0, opI32Load, 2, 4, opLocalTee, n, opI64ExtendI32U, opI64Xor)
	b = append(append(b, opLocalSet, h), m.charge(n)...)
	word := slices.Concat([]byte{opLocalGet, h, opLocalGet, p, opI64Load, 0, 0, opI64Xor}, multiply(h),
		[]byte{opLocalSet, h}, advance(p, 8), advance(n, minus8))
	// A string that has words ends with one: p + n is its end, also after the loop.
	words := append(whileAtLeast(n, 9, word), at(p, n, 8, opI64Load)...)
	halves := append([]byte{opLocalGet, p, opI64Load32U, 0, 0}, at(p, n, 4, opI64Load32U)...)
	halves = append(halves, opI64Const, 32, opI64Shl, opI64Or)
	short := ifAtLeast(n, 4, halves, ifAtLeast(n, 1, bytesOf(p, n), []byte{opI64Const, 0}))
	b = append(append(b, ifAtLeast(n, 8, words, short)...), opLocalGet, h, opI64Xor)
	return slices.Concat(b, multiply(h), multiply(h), []byte{opI32WrapI64, opReturn, opEnd})
}

// bytesOf is `p[0] | p[n/2] << 8 | p[n-1] << 16`.
func bytesOf(p, n byte) []byte {
	b := []byte{opLocalGet, p, opI64Load8U, 0, 0}
	b = append(b, opLocalGet, p, opLocalGet, n, opI32Const, 1, opI32ShrU, opI32Add, opI64Load8U, 0, 0)
	b = append(append(b, opI64Const, 8, opI64Shl, opI64Or), at(p, n, 1, opI64Load8U)...)
	return append(b, opI64Const, 16, opI64Shl, opI64Or)
}

// at loads what lies size bytes before p + n.
func at(p, n, size, load byte) []byte {
	return []byte{opLocalGet, p, opLocalGet, n, opI32Add, opI32Const, size, opI32Sub, load, 0, 0}
}

// ifAtLeast leaves the i64 of one of both on the stack.
func ifAtLeast(n, least byte, then, otherwise []byte) []byte {
	b := append([]byte{opLocalGet, n, opI32Const, least, opI32GeU, opIf, typeI64}, then...)
	return append(append(append(b, opElse), otherwise...), opEnd)
}

// minus8 is the immediate for -8.
const minus8 = 0x78

// multiply turns x on the stack into mix(x, 0), using h.
func multiply(h byte) []byte {
	factor := uint64(hashFactor)
	b := append(appendS64([]byte{opI64Const}, int64(factor)), opI64Mul, opLocalTee, h)
	return append(b, opLocalGet, h, opI64Const, 32, opI64ShrU, opI64Xor)
}

// comparePrologue is put before the body of opa_strncmp(a, b, n): it passes over what is equal, so that the runtime's
// own loop begins at most seven bytes before the first difference or the end.
func (m *rewriter) comparePrologue() []byte {
	const a, b, n = 0, 1, 2
	body := []byte{opLocalGet, a, opI64Load, 0, 0, opLocalGet, b, opI64Load, 0, 0, opI64Ne, opBrIf, 1}
	body = slices.Concat(body, advance(a, 8), advance(b, 8), advance(n, minus8))
	return append(m.charge(n), whileAtLeast(n, 8, body)...)
}

// charge is `if n >= 64 { fuel -= n / 8 }`. The loops over a string have no fuel check of their own, as no string
// takes long; but policies can go over a long one many times, so that what it takes must show where fuel is checked
// next.
func (m *rewriter) charge(n byte) []byte {
	b := []byte{opLocalGet, n, opI32Const, 0xc0, 0, opI32GeU, opIf, blockEmpty}
	b = appendU32(append(b, opGlobalGet), m.fuel)
	b = append(b, opLocalGet, n, opI32Const, 3, opI32ShrU, opI32Sub)
	b = appendU32(append(b, opGlobalSet), m.fuel)
	return append(b, opEnd)
}

// advance adds to a local variable; size is the immediate of an i32.const.
func advance(local, size byte) []byte {
	return []byte{opLocalGet, local, opI32Const, size, opI32Add, opLocalSet, local}
}

// whileAtLeast is `while n >= least { body }`; inside body, branch 1 leaves.
func whileAtLeast(n, least byte, body []byte) []byte {
	b := []byte{opBlock, blockEmpty, opLoop, blockEmpty, opLocalGet, n, opI32Const, least, opI32LtS, opBrIf, 1}
	return append(append(b, body...), opBr, 0, opEnd, opEnd)
}
