package host

import (
	"encoding/binary"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// The layouts below are those of OPA's C runtime (wasm/src/value.h, ABI 1.3), sizes in bytes:
//
//	boolean {tag u8, v u8}                             number {tag u8, repr u8, _, i64 or {text *u8, len, free u8}} 24
//	string  {tag u8, free u8, len, text *u8}        12 array  {tag u8, elems *{index, value}, len, cap}             16
//	object  {tag u8, buckets **elem, n, len}        16 elem   {key, value, next}                                    12
//
// Having the module parse JSON text took as long as deciding. Writing the values from Go takes a tenth of that, and
// numbers become integers, which the module compares much faster than text. selfCheck guards the layout at load.
const (
	minBuckets  = 8
	sharedInts  = 64 // small integers, also the indexes of arrays, stand once per instance
	numberBytes = 24
)

// encoder writes JSON text as values into the module's memory, from an address upward. The text must be valid JSON without
// duplicate keys: it is what this program marshalled itself.
type encoder struct {
	in   *Instance
	mem  []byte
	next uint32 // where the next value goes
	text []byte // the JSON text, already in the module's memory at base
	base uint32
	at   int
	// stack collects the members of the open arrays and objects.
	stack []member
	err   error
}

type member struct {
	key, hash, value uint32
}

// encode writes text at addr and its value behind it. It returns the value's address and the first free address.
func (e *encoder) encode(addr uint32, text []byte) (value, end uint32, err error) {
	e.next, e.base, e.at, e.stack, e.err = addr, addr, 0, e.stack[:0], nil
	e.view()
	copy(e.bytes(uint32(len(text))), text)
	e.text = text
	value = e.value()
	if e.err == nil && value == 0 {
		e.err = &Error{Kind: ErrTrap, Detail: "the input is not JSON"}
	}
	return value, (e.next + 7) &^ 7, e.err
}

func (e *encoder) view() { e.mem, _ = e.in.mem.Read(0, e.in.mem.Size()) }

// alloc takes n bytes, 8-aligned, growing the memory as needed.
func (e *encoder) alloc(n uint32) uint32 {
	addr := (e.next + 7) &^ 7
	end := uint64(addr) + uint64(n)
	if end > uint64(len(e.mem)) {
		if err := e.in.reserve(end); err != nil {
			e.err = err
			return 0
		}
		e.view()
	}
	e.next = uint32(end)
	return addr
}

func (e *encoder) bytes(n uint32) []byte {
	addr := e.alloc(n)
	if e.err != nil {
		return nil
	}
	return e.mem[addr : addr+n]
}

func (e *encoder) put(addr, v uint32) {
	if e.err == nil {
		binary.LittleEndian.PutUint32(e.mem[addr:], v)
	}
}

func (e *encoder) header(n uint32, tag, second byte) uint32 {
	addr := e.alloc(n)
	if e.err == nil {
		clear(e.mem[addr : addr+n])
		e.mem[addr], e.mem[addr+1] = tag, second
	}
	return addr
}

func (e *encoder) peek() byte {
	for e.at < len(e.text) {
		c := e.text[e.at]
		if c > ' ' {
			return c
		}
		e.at++
	}
	return 0
}

func (e *encoder) value() uint32 {
	if e.err != nil {
		return 0
	}
	switch c := e.peek(); {
	case c == '{':
		return e.object()
	case c == '[':
		return e.array()
	case c == '"':
		addr, _ := e.string()
		return addr
	case c == 't':
		e.at += len("true")
		return e.header(2, tagBoolean, 1)
	case c == 'f':
		e.at += len("false")
		return e.header(2, tagBoolean, 0)
	case c == 'n':
		e.at += len("null")
		return e.header(1+1, tagNull, 0)
	case c == '-' || c >= '0' && c <= '9':
		return e.number()
	default:
		return 0
	}
}

func (e *encoder) number() uint32 {
	start := e.at
	integer := true
	for ; e.at < len(e.text); e.at++ {
		c := e.text[e.at]
		if c == '.' || c == 'e' || c == 'E' {
			integer = false
		} else if c != '-' && c != '+' && (c < '0' || c > '9') {
			break
		}
	}
	text := e.text[start:e.at]
	// The runtime's arithmetic prints integers with "%d" and so takes the low 32 bits of larger ones; it keeps them as text
	// itself, and -0, which hashes apart from 0.
	if integer && len(text) <= len("-2147483648") && string(text) != "-0" {
		if n, err := strconv.ParseInt(string(text), 10, 32); err == nil {
			return e.integer(n)
		}
	}
	addr := e.header(numberBytes, tagNumber, numberRef)
	e.put(addr+8, e.base+uint32(start))
	e.put(addr+12, uint32(len(text)))
	return addr
}

func (e *encoder) integer(n int64) uint32 {
	if n >= 0 && n < sharedInts && e.in.ints != 0 {
		return e.in.ints + uint32(n)*numberBytes
	}
	addr := e.header(numberBytes, tagNumber, numberInt)
	if e.err == nil {
		binary.LittleEndian.PutUint64(e.mem[addr+8:], uint64(n))
	}
	return addr
}

// string returns the value and its hash. Without escapes its bytes are those of the text, which stays in memory.
func (e *encoder) string() (addr, hash uint32) {
	e.at++
	start := e.at
	for e.at < len(e.text) && e.text[e.at] != '"' && e.text[e.at] != '\\' {
		e.at++
	}
	s, where := e.text[start:e.at], e.base+uint32(start)
	if e.at < len(e.text) && e.text[e.at] == '\\' {
		s = e.unescape(s)
		where = e.alloc(uint32(len(s)))
		if e.err == nil {
			copy(e.mem[where:], s)
		}
	}
	e.at++
	addr = e.header(12, tagString, 0)
	e.put(addr+4, uint32(len(s)))
	e.put(addr+8, where)
	return addr, fnv(s)
}

// unescape continues behind prefix at the first backslash and stops at the closing quote.
func (e *encoder) unescape(prefix []byte) []byte {
	out := append([]byte(nil), prefix...)
	for e.at < len(e.text) && e.text[e.at] != '"' {
		c := e.text[e.at]
		if c != '\\' || e.at+1 >= len(e.text) {
			out = append(out, c)
			e.at++
			continue
		}
		c = e.text[e.at+1]
		e.at += 2
		switch c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r := e.hex()
			if utf16.IsSurrogate(r) && e.at+1 < len(e.text) && e.text[e.at] == '\\' && e.text[e.at+1] == 'u' {
				e.at += 2
				r = utf16.DecodeRune(r, e.hex())
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
		}
	}
	return out
}

func (e *encoder) hex() rune {
	end := min(e.at+4, len(e.text))
	n, _ := strconv.ParseUint(string(e.text[e.at:end]), 16, 32)
	e.at = end
	return rune(n)
}

// fnv is the hash of the runtime's fnv1a32, which despite its name multiplies first (FNV-1).
func fnv(s []byte) uint32 {
	h := uint32(0x811c9dc5)
	for _, c := range s {
		h = h*0x01000193 ^ uint32(c)
	}
	return h
}
