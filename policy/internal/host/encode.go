package host

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// The layouts that the encoder writes are those of OPA's C runtime (wasm/src/value.h, ABI 1.3), with their sizes in
// bytes as far as the runtime reads them:
//
//	null    {tag u8}                      1    integer {tag u8, repr u8, _, i64 at 8}                        16
//	boolean {tag u8, v u8}                2    number  {tag u8, repr u8, _, text *u8 at 8, len, free u8}     20
//	string  {tag u8, free u8, len, *u8}  12    array   {tag u8, elems *{index, value}, len, cap}             16
//	elem    {key, value, next}           12    object  {tag u8, buckets **elem, buckets, len}                16
//
// Having the module parse JSON text took as long as deciding; writing the values from Go takes a tenth of that.
// selfCheck compares the two when a module is loaded.
const (
	integerBytes = 16
	numberBytes  = 20
	stringBytes  = 12
	arrayBytes   = 16
	objectBytes  = 16
	elemBytes    = 12
	minBuckets   = 8
)

// sharedIntegers is how many small integers stand once per instance, as values and as the indexes of arrays.
const sharedIntegers = 512

// encoder writes JSON text as values into the module's memory, from an address upward. It refuses what is not JSON as
// RFC 8259 has it, and duplicate names, since a reader that takes the last one and a reader that takes the first one
// would judge different documents.
type encoder struct {
	in   *Instance
	mem  []byte
	next uint32 // where the next value goes; a multiple of 4
	text []byte // the JSON text, of which a copy stands in memory at base
	base uint32
	at   int
	// depth is the number of open arrays and objects, whose members so far are on the stack.
	depth int
	stack []member
	// unescaped is the last string that had escapes.
	unescaped []byte
	// shared is the address of null, false, true and the small integers; indexes those of the longest array so far.
	shared, indexes uint32
	indexed         uint32
	err             error
}

type member struct {
	key, hash, value uint32
}

// share writes the values that all documents share at addr and returns the first address behind them.
func (e *encoder) share(addr uint32) (end uint32, err error) {
	e.begin(addr, nil)
	e.shared = e.take(constantBytes + sharedIntegers*integerBytes)
	if e.err != nil {
		return 0, e.err
	}
	copy(e.mem[e.shared:], []byte{nullAt: tagNull, falseAt: tagBoolean, trueAt: tagBoolean, trueAt + 1: 1})
	e.integers(e.shared+constantBytes, 0, sharedIntegers)
	return e.next, nil
}

// The places of the shared values behind encoder.shared.
const (
	nullAt        = 0
	falseAt       = 4
	trueAt        = 8
	constantBytes = 12
)

// encode writes text at addr and its value behind it. It returns the value's address and the first free address.
func (e *encoder) encode(addr uint32, text []byte) (value, end uint32, err error) {
	if !utf8.Valid(text) {
		return 0, 0, &Error{Kind: ErrInput, Detail: "it is not UTF-8"}
	}
	e.begin(addr, text)
	e.base = e.take(aligned(len(text)))
	if e.err == nil {
		copy(e.mem[e.base:], text)
		value = e.value()
	}
	if value != 0 && e.peek() != 0 || e.at < len(text) {
		e.unexpected("the end")
	}
	e.mem, e.text = nil, nil // the module may move its memory
	return value, e.next, e.err
}

func (e *encoder) begin(addr uint32, text []byte) {
	e.mem, e.text, e.next = e.in.memory(), text, (addr+3)&^3
	e.at, e.depth, e.stack, e.indexed, e.err = 0, 0, e.stack[:0], 0, nil
}

// take returns the address of n fresh bytes, a multiple of 4, or 0 where the memory cannot grow that far.
func (e *encoder) take(n int) uint32 {
	addr := e.next
	if int(addr)+n > len(e.mem) {
		return e.grow(n)
	}
	e.next += uint32(n)
	return addr
}

// grow takes n bytes from memory that it adds, with what the rest of the text is likely to need.
func (e *encoder) grow(n int) uint32 {
	end := uint64(e.next) + uint64(n)
	if e.err = e.in.reserve(e.next, end, end+uint64(len(e.text)-e.at)*4); e.err != nil {
		return 0
	}
	e.mem = e.in.memory()
	return e.take(n)
}

// aligned rounds up to what take gives out.
func aligned(n int) int { return (n + 3) &^ 3 }

func (e *encoder) put(addr, v uint32) { binary.LittleEndian.PutUint32(e.mem[addr:], v) }

func (e *encoder) u32(addr uint32) uint32 { return binary.LittleEndian.Uint32(e.mem[addr:]) }

// peek passes over white space and returns the byte behind it, 0 at the end of the text.
func (e *encoder) peek() byte {
	for e.at < len(e.text) {
		c := e.text[e.at]
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		e.at++
	}
	return 0
}

// unexpected records that something else than want stands at the present place, and returns 0 for a value.
func (e *encoder) unexpected(want string) uint32 {
	if e.err == nil {
		found := "the end"
		if e.at < len(e.text) {
			r, _ := utf8.DecodeRune(e.text[e.at:])
			found = fmt.Sprintf("%q", r)
		}
		e.refuse(ErrInput, "byte %d is %s, not %s", e.at, found, want)
	}
	return 0
}

func (e *encoder) refuse(kind error, format string, args ...any) {
	e.err = &Error{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

func (e *encoder) value() uint32 {
	switch c := e.peek(); c {
	case '{':
		return e.object()
	case '[':
		return e.array()
	case '"':
		return e.string()
	case 't':
		return e.literal("true", trueAt)
	case 'f':
		return e.literal("false", falseAt)
	case 'n':
		return e.literal("null", nullAt)
	default:
		return e.number()
	}
}

func (e *encoder) literal(word string, place uint32) uint32 {
	if rest := e.text[e.at:]; len(rest) < len(word) || string(rest[:len(word)]) != word {
		return e.unexpected("a value")
	}
	e.at += len(word)
	return e.shared + place
}
