package host

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tiergate/tiergate/policy/internal/rewrite"
)

// string writes a string value.
func (e *encoder) string() uint32 {
	where, n, ok := e.content()
	if !ok {
		return 0
	}
	return e.stringOf(where, n)
}

// key writes the string of an object's member and returns its hash as well.
func (e *encoder) key() (addr, hash uint32) {
	where, n, ok := e.content()
	if !ok {
		return 0, 0
	}
	return e.stringOf(where, n), rewrite.StringHash(e.mem[where : where+n])
}

func (e *encoder) stringOf(where, n uint32) uint32 {
	addr := e.take(stringBytes)
	if addr != 0 {
		b := (*[stringBytes]byte)(e.mem[addr:])
		binary.LittleEndian.PutUint32(b[:], tagString)
		binary.LittleEndian.PutUint32(b[4:], n)
		binary.LittleEndian.PutUint32(b[8:], where)
	}
	return addr
}

func (e *encoder) keyBytes(addr uint32) []byte {
	n, where := e.u32(addr+4), e.u32(addr+8)
	return e.mem[where : where+n]
}

// content passes over a string and returns where in memory its bytes are. Without escapes these are those of the text,
// a copy of which is there.
func (e *encoder) content() (where, n uint32, ok bool) {
	e.at++
	start := e.at
	e.at = plainEnd(e.text, start)
	if e.at < len(e.text) && e.text[e.at] == '"' {
		n = uint32(e.at - start)
		e.at++
		return e.base + uint32(start), n, true
	}
	if !e.unescape(start) {
		return 0, 0, false
	}
	n = uint32(len(e.unescaped))
	if where = e.take(aligned(int(n))); where == 0 {
		return 0, 0, false
	}
	copy(e.mem[where:], e.unescaped)
	return where, n, true
}

// plainEnd returns the place of the first quote, backslash or control character at or behind i. It looks at eight
// bytes at once: a byte of w^pattern is zero where w has the pattern's byte, and (x-0x01..)&^x has the top bit of the
// lowest zero byte set.
func plainEnd(text []byte, i int) int {
	const low, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		quote, backslash := w^('"'*low), w^('\\'*low)
		found := ((quote-low)&^quote | (backslash-low)&^backslash | (w-' '*low)&^w) & high
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && text[i] != '"' && text[i] != '\\' && text[i] >= ' ' {
		i++
	}
	return i
}

// unescape reads on from the first byte that is not plain to the closing quote; the string began at start.
func (e *encoder) unescape(start int) bool {
	e.unescaped = append(e.unescaped[:0], e.text[start:e.at]...)
	for {
		switch {
		case e.at == len(e.text) || e.text[e.at] < ' ':
			e.unexpected("a character of a string")
			return false
		case e.text[e.at] == '"':
			e.at++
			return true
		}
		if !e.escape() {
			e.unexpected("an escape")
			return false
		}
		start = e.at
		e.at = plainEnd(e.text, start)
		e.unescaped = append(e.unescaped, e.text[start:e.at]...)
	}
}

// escapes gives the bytes that stand for those behind a backslash.
var escapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escape reads one escape, or stays where it is and returns false. Half of a surrogate pair is no character.
func (e *encoder) escape() bool {
	rest := e.text[e.at:]
	if len(rest) < 2 {
		return false
	}
	if rest[1] != 'u' {
		if escapes[rest[1]] == 0 {
			return false
		}
		e.unescaped = append(e.unescaped, escapes[rest[1]])
		e.at += 2
		return true
	}
	r, ok := unicodeEscape(rest)
	n := 6
	if utf16.IsSurrogate(r) {
		var second rune
		second, ok = unicodeEscape(rest[n:])
		r = utf16.DecodeRune(r, second)
		ok = ok && r != utf8.RuneError
		n += 6
	}
	if !ok {
		return false
	}
	e.at += n
	e.unescaped = utf8.AppendRune(e.unescaped, r)
	return true
}

// unicodeEscape reads \uXXXX.
func unicodeEscape(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 32)
	return rune(n), err == nil
}
