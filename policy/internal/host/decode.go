package host

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
)

// decoder writes the module's values as JSON text, reading them from memory: having the module print them took as long as
// deciding. Objects come with sorted keys and sets as arrays sorted by their JSON text, so that the same value always gives
// the same bytes.
type decoder struct {
	mem []byte
	out []byte
	// entries holds the members of the open objects.
	entries []entry
	err     error
}

type entry struct {
	key   []byte // the key as JSON text, or nil for a set's member
	value uint32
}

func (d *decoder) u32(addr uint32) uint32 {
	if uint64(addr)+4 > uint64(len(d.mem)) {
		d.err = errBounds
		return 0
	}
	return binary.LittleEndian.Uint32(d.mem[addr:])
}

func (d *decoder) slice(addr, n uint32) []byte {
	if uint64(addr)+uint64(n) > uint64(len(d.mem)) {
		d.err = errBounds
		return nil
	}
	return d.mem[addr : addr+n]
}

func (d *decoder) value(addr uint32, depth int) {
	head := d.slice(addr, 2)
	if d.err != nil || addr == 0 || depth > maxDepth {
		d.err = errBounds
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
		d.out = appendString(d.out, d.slice(d.u32(addr+8), d.u32(addr+4)))
	case tagArray:
		d.array(addr, depth)
	case tagObject:
		d.object(addr, depth)
	case tagSet:
		d.set(addr, depth)
	default:
		d.err = errBounds
	}
}

func (d *decoder) number(addr uint32, repr byte) {
	if repr == numberInt {
		if b := d.slice(addr+8, 8); b != nil {
			d.out = strconv.AppendInt(d.out, int64(binary.LittleEndian.Uint64(b)), 10)
		}
		return
	}
	d.out = append(d.out, d.slice(d.u32(addr+8), d.u32(addr+12))...)
}

func (d *decoder) array(addr uint32, depth int) {
	elems, n := d.u32(addr+4), d.u32(addr+8)
	d.out = append(d.out, '[')
	for i := range n {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		d.value(d.u32(elems+i*8+4), depth+1)
		if d.err != nil {
			return
		}
	}
	d.out = append(d.out, ']')
}

// each calls visit for every element of an object or set until there is an error.
func (d *decoder) each(addr, nextOffset uint32, visit func(elem uint32)) {
	buckets, n, left := d.u32(addr+4), d.u32(addr+8), d.u32(addr+12)
	for i := uint32(0); i < n && d.err == nil; i++ {
		for elem := d.u32(buckets + i*4); elem != 0 && d.err == nil; elem = d.u32(elem + nextOffset) {
			if left == 0 { // a cycle, or a table that lies about its length
				d.err = errBounds
				return
			}
			left--
			visit(elem)
		}
	}
}

func (d *decoder) object(addr uint32, depth int) {
	mark := len(d.entries)
	d.each(addr, 8, func(elem uint32) {
		d.entries = append(d.entries, entry{d.key(d.u32(elem), depth), d.u32(elem + 4)})
	})
	entries := d.entries[mark:]
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	d.out = append(d.out, '{')
	for i := range entries {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		d.out = appendString(d.out, entries[i].key)
		d.out = append(d.out, ':')
		d.value(entries[i].value, depth+1)
		if d.err != nil {
			return
		}
		entries = d.entries[mark:]
	}
	d.out = append(d.out, '}')
	d.entries = d.entries[:mark]
}

// key returns an object's key; one that is not a string becomes the JSON text of its value, as OPA prints it.
func (d *decoder) key(addr uint32, depth int) []byte {
	if tag := d.slice(addr, 1); tag != nil && (tag[0] == tagString || tag[0] == tagStringInterned) {
		return d.slice(d.u32(addr+8), d.u32(addr+4))
	}
	start := len(d.out)
	d.value(addr, depth+1)
	text := bytes.Clone(d.out[start:])
	d.out = d.out[:start]
	return text
}

func (d *decoder) set(addr uint32, depth int) {
	start, count := len(d.out), 0
	mark := len(d.entries)
	d.each(addr, 4, func(elem uint32) {
		from := len(d.out)
		d.value(d.u32(elem), depth+1)
		if d.err == nil {
			d.entries = append(d.entries, entry{key: d.out[from:]})
			count++
		}
	})
	members := d.entries[mark:]
	if count > 1 {
		// The texts lie one behind the other in out; they are copied once, sorted.
		text := bytes.Clone(d.out[start:])
		offset := 0
		for i := range members {
			n := len(members[i].key)
			members[i].key = text[offset : offset+n]
			offset += n
		}
		slices.SortFunc(members, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	} else if count == 1 {
		members[0].key = bytes.Clone(members[0].key)
	}
	d.out = append(d.out[:start], '[')
	for i, m := range members {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		d.out = append(d.out, m.key...)
	}
	d.out = append(d.out, ']')
	d.entries = d.entries[:mark]
}

const hexDigits = "0123456789abcdef"

// appendString writes s as a JSON string. The module's strings are UTF-8, since its inputs and sources were.
func appendString(out, s []byte) []byte {
	out = append(out, '"')
	start := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out = append(out, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		case '\t':
			out = append(out, '\\', 't')
		case '\r':
			out = append(out, '\\', 'r')
		default:
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(out, s[start:]...), '"')
}
