package rewrite

import "encoding/binary"

// Most of what rules do is look up members of objects, which in OPA's runtime means to hash a name byte by byte (FNV)
// and to compare it byte by byte. Here both take eight bytes at a time. The runtime uses the hash for nothing but its
// own tables, so another one changes no result; StringHash is the same function in Go for who writes such tables.

// hashSeed and hashFactor are those of a multiplicative hash (Fibonacci hashing, Knuth volume 3, section 6.4).
const (
	hashSeed   = 0x2545f4914f6cdd1d
	hashFactor = 0x9e3779b97f4a7c15
)

// StringHash is the hash of a string in a rewritten module.
func StringHash(s []byte) uint32 {
	h := hashSeed ^ uint64(len(s))
	for ; len(s) >= 8; s = s[8:] {
		h = mix(h, binary.LittleEndian.Uint64(s))
	}
	for _, c := range s {
		h = mix(h, uint64(c))
	}
	return uint32(mix(h, 0))
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

// maxHashLocals keeps the indexes of new locals in one byte.
const maxHashLocals = 100

// hashPrologue is put before the body of opa_value_hash(node): strings, {tag u8, _, length, *text}, are answered by
// StringHash, anything else goes on as before. h (i64), p and n (i32) are new locals from first on.
func (m *rewriter) hashPrologue(first byte) []byte {
	h, p, n := first, first+1, first+2
	b := []byte{
		opLocalGet, 0, opI32Load8U, 0, 0, opI32Const, tagString, opI32Eq,
		opLocalGet, 0, opI32Load8U, 0, 0, opI32Const, tagStringInterned, opI32Eq, opI32Or, opIf, blockEmpty,
		opLocalGet, 0, opI32Load, 2, 8, opLocalSet, p,
	}
	b = append(b, opI64Const)
	b = appendS64(b, hashSeed)
	b = append(b, opLocalGet, 0, opI32Load, 2, 4, opLocalTee, n, opI64ExtendI32U, opI64Xor, opLocalSet, h)
	b = append(b, m.charge(n)...)
	b = append(b, whileAtLeast(n, 8, step(h, p, n, opI64Load, 8))...)
	b = append(b, whileAtLeast(n, 1, step(h, p, n, opI64Load8U, 1))...)
	return append(multiply(append(b, opLocalGet, h), h), opI32WrapI64, opReturn, opEnd)
}

// step is `h = mix(h, load(p)); p += size; n -= size`.
func step(h, p, n, load, size byte) []byte {
	b := []byte{opLocalGet, h, opLocalGet, p, load, 0, 0, opI64Xor}
	b = append(multiply(b, h), opLocalSet, h)
	return append(append(b, advance(p, size)...), opLocalGet, n, opI32Const, size, opI32Sub, opLocalSet, n)
}

// multiply turns x on the stack into `h = x * factor; h ^ h>>32`.
func multiply(b []byte, h byte) []byte {
	factor := uint64(hashFactor)
	b = append(appendS64(append(b, opI64Const), int64(factor)), opI64Mul, opLocalTee, h)
	return append(b, opLocalGet, h, opI64Const, 32, opI64ShrU, opI64Xor)
}

// comparePrologue is put before the body of opa_strncmp(a, b, n): it passes over what is equal, so that the runtime's
// own loop begins at most seven bytes before the first difference or the end.
func (m *rewriter) comparePrologue() []byte {
	const a, b, n = 0, 1, 2
	body := []byte{opLocalGet, a, opI64Load, 0, 0, opLocalGet, b, opI64Load, 0, 0, opI64Ne, opBrIf, 1}
	body = append(append(body, advance(a, 8)...), advance(b, 8)...)
	body = append(body, opLocalGet, n, opI32Const, 8, opI32Sub, opLocalSet, n)
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

func advance(local, size byte) []byte {
	return []byte{opLocalGet, local, opI32Const, size, opI32Add, opLocalSet, local}
}

// whileAtLeast is `while n >= least { body }`; inside body, branch 1 leaves.
func whileAtLeast(n, least byte, body []byte) []byte {
	b := []byte{opBlock, blockEmpty, opLoop, blockEmpty, opLocalGet, n, opI32Const, least, opI32LtS, opBrIf, 1}
	return append(append(b, body...), opBr, 0, opEnd, opEnd)
}
