package host

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// decoder writes the module's values as JSON text, reading them from memory: having the module print them took as long
// as deciding. Objects come with sorted names and sets as sorted arrays, so that the same value always gives the same
// bytes. The memory is what a policy made of it, so nothing in it is trusted to be in bounds, finite or JSON.
type decoder struct {
	mem []byte
	out []byte
	// limit bounds the result. A value that contains another one many times over can print as any multiple of its
	// memory.
	limit, end int
	// members and elements are those of the open objects and sets, texts what they have that is not in memory as it is.
	members  []named
	elements []element
	texts    []byte
	// Arrays and objects below constants are the data document's and never change, so their text is remembered. A
	// verdict consists of them for the most part.
	constants  uint32
	remembered map[uint32][]byte
	remembers  int
	err        error
}

// rememberedBytes bounds the remembered text of an instance.
const rememberedBytes = 64 << 10

// decode appends the JSON text of the value at addr to dst.
func (d *decoder) decode(mem []byte, addr uint32, dst []byte) ([]byte, error) {
	d.mem, d.out, d.end, d.err = mem, dst, len(dst)+d.limit, nil
	d.members, d.elements, d.texts = d.members[:0], d.elements[:0], d.texts[:0]
	d.value(addr, 0)
	out := d.out
	d.mem, d.out = nil, nil
	if d.err != nil {
		return dst, d.err
	}
	return out, nil
}

func (d *decoder) fail(kind error, format string, args ...any) {
	if d.err == nil {
		d.err = &Error{Kind: kind, Detail: "the result " + fmt.Sprintf(format, args...)}
	}
}

// at returns n bytes of memory. Where there are none it fails and returns 16 zeros, as many as any layout has.
func (d *decoder) at(addr uint32, n int) []byte {
	if end := int(addr) + n; end <= len(d.mem) {
		return d.mem[addr:end]
	}
	return d.beyond()
}

func (d *decoder) beyond() []byte {
	d.fail(ErrTrap, "points beyond the memory")
	return make([]byte, 16)
}

func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

func (d *decoder) value(addr uint32, depth int) {
	head := d.at(addr, 2)
	switch {
	case d.err != nil:
		return
	case depth > maxDepth:
		d.fail(ErrStack, "is nested deeper than %d", maxDepth)
		return
	case len(d.out)+len(d.texts) > d.end:
		d.fail(ErrMemory, "has more than %d bytes", d.limit)
		return
	}
	switch head[0] {
	case tagNull:
		d.out = append(d.out, "null"...)
	case tagBoolean, tagBooleanInterned:
		d.out = strconv.AppendBool(d.out, head[1] != 0)
	case tagNumber:
		d.number(addr, head[1])
	case tagString, tagStringInterned:
		d.out = appendString(d.out, d.string(addr))
	case tagArray, tagObject:
		d.container(addr, head[0], depth)
	case tagSet:
		d.set(addr, depth)
	default:
		d.fail(ErrTrap, "has a value of unknown type %d", head[0])
	}
}

func (d *decoder) string(addr uint32) []byte {
	s := d.at(addr, stringBytes)
	return d.at(u32(s[8:]), int(u32(s[4:])))
}

// number prints integers, and the text of others if it is a JSON number: to_number makes numbers of texts like "007".
func (d *decoder) number(addr uint32, repr byte) {
	n := d.at(addr, integerBytes)
	if repr == numberInt {
		d.out = strconv.AppendInt(d.out, int64(binary.LittleEndian.Uint64(n[8:])), 10)
		return
	}
	text := d.at(u32(n[8:]), int(u32(n[12:])))
	if _, end, _ := scanNumber(text, 0); end == 0 || end < len(text) {
		d.fail(ErrTrap, "has %.40q for a number", text)
		return
	}
	d.out = append(d.out, text...)
}

// container prints an array or object, from memory of the text if it is constant.
func (d *decoder) container(addr uint32, tag byte, depth int) {
	if addr >= d.constants {
		d.nested(addr, tag, depth)
		return
	}
	if text, ok := d.remembered[addr]; ok {
		d.out = append(d.out, text...)
		return
	}
	start, constants := len(d.out), d.constants
	d.constants = 0 // what is inside need not be remembered once more
	d.nested(addr, tag, depth)
	d.constants = constants
	if n := len(d.out) - start; d.err == nil && d.remembers+n <= rememberedBytes {
		if d.remembered == nil {
			d.remembered = map[uint32][]byte{}
		}
		d.remembered[addr] = append([]byte(nil), d.out[start:]...)
		d.remembers += n
	}
}
