package host

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

func (d *decoder) nested(addr uint32, tag byte, depth int) {
	if tag == tagArray {
		d.array(addr, depth)
	} else {
		d.object(addr, depth)
	}
}

func (d *decoder) array(addr uint32, depth int) {
	head := d.at(addr, arrayBytes)
	table := d.at(u32(head[4:]), int(u32(head[8:]))*8)
	d.out = append(d.out, '[')
	for i := 0; i < len(table) && d.err == nil; i += 8 {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		d.value(u32(table[i+4:]), depth+1)
	}
	d.out = append(d.out, ']')
}

// table returns the buckets of an object or set and the number of its elements. There cannot be more of these than
// there is memory for; a cycle would seem to have more.
func (d *decoder) table(addr uint32) (buckets []byte, n int) {
	head := d.at(addr, objectBytes)
	buckets, n = d.at(u32(head[4:]), int(u32(head[8:]))*4), int(u32(head[12:]))
	if n > len(d.mem)/8 {
		d.fail(ErrTrap, "has a malformed table")
		return nil, 0
	}
	return buckets, n
}

// named is a member of an object. prefix is the beginning of its name, which settles most comparisons.
type named struct {
	prefix uint64
	name   []byte
	value  uint32
}

func (d *decoder) object(addr uint32, depth int) {
	mark := len(d.members)
	buckets, n := d.table(addr)
	for ; len(buckets) > 0; buckets = buckets[4:] {
		for elem := u32(buckets); elem != 0 && d.err == nil; n-- {
			e := d.at(elem, elemBytes)
			name := d.name(u32(e), depth)
			d.members = append(d.members, named{prefix(name), name, u32(e[4:])})
			elem = u32(e[8:])
			if n == 0 {
				d.fail(ErrTrap, "has a malformed table")
			}
		}
	}
	end := len(d.members)
	sortMembers(d.members[mark:])
	d.out = append(d.out, '{')
	for i := mark; i < end && d.err == nil; i++ {
		if i > mark {
			d.out = append(d.out, ',')
		}
		d.out = append(appendString(d.out, d.members[i].name), ':')
		d.value(d.members[i].value, depth+1)
	}
	d.out = append(d.out, '}')
	d.members = d.members[:mark]
}

// name returns an object's key; one that is not a string becomes the JSON text of its value, as OPA prints it.
func (d *decoder) name(addr uint32, depth int) []byte {
	if tag := d.at(addr, 1)[0]; tag == tagString || tag == tagStringInterned {
		return d.string(addr)
	}
	start := len(d.out)
	d.value(addr, depth+1)
	text := d.keep(d.out[start:])
	d.out = d.out[:start]
	return text
}

// keep copies text to where it stays while members or elements refer to it.
func (d *decoder) keep(text []byte) []byte {
	start := len(d.texts)
	d.texts = append(d.texts, text...)
	return d.texts[start:len(d.texts):len(d.texts)]
}

// prefix returns the first eight bytes of a name as a number that compares as they do; missing ones are zero.
func prefix(name []byte) uint64 {
	if cap(name) < 8 {
		var b [8]byte
		copy(b[:], name)
		return binary.BigEndian.Uint64(b[:])
	}
	return binary.BigEndian.Uint64(name[:8]) &^ (math.MaxUint64 >> (8 * min(len(name), 8)))
}

func (m named) compare(n named) int {
	if m.prefix != n.prefix {
		return cmp.Compare(m.prefix, n.prefix)
	}
	return bytes.Compare(m.name, n.name)
}

// sortMembers is quicker than the library for what objects mostly are, a few members.
func sortMembers(list []named) {
	if len(list) > 16 {
		slices.SortFunc(list, named.compare)
		return
	}
	for i := 1; i < len(list); i++ {
		m, j := list[i], i
		for ; j > 0 && (m.prefix < list[j-1].prefix || m.compare(list[j-1]) < 0); j-- {
			list[j] = list[j-1]
		}
		list[j] = m
	}
}

// element is a member of a set by its text, and its value if it is an integer.
type element struct {
	text    []byte
	value   int64
	integer bool
}

// set prints the elements first and puts their texts into order then: integers by value, before the rest by text.
func (d *decoder) set(addr uint32, depth int) {
	mark, kept := len(d.elements), len(d.texts)
	d.out = append(d.out, '[')
	buckets, n := d.table(addr)
	for ; len(buckets) > 0; buckets = buckets[4:] {
		for elem := u32(buckets); elem != 0 && d.err == nil; n-- {
			e := d.at(elem, 8)
			from := len(d.out)
			d.value(u32(e), depth+1)
			if len(d.elements) > mark || n > 1 { // a single one is where it belongs
				d.addElement(d.keep(d.out[from:]))
				d.out = d.out[:from]
			}
			elem = u32(e[4:])
			if n == 0 {
				d.fail(ErrTrap, "has a malformed table")
			}
		}
	}
	elements := d.elements[mark:]
	slices.SortFunc(elements, element.compare)
	for i, e := range elements {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		d.out = append(d.out, e.text...)
	}
	d.out = append(d.out, ']')
	d.elements, d.texts = d.elements[:mark], d.texts[:kept]
}

func (d *decoder) addElement(text []byte) {
	n, end, integer := scanNumber(text, 0)
	if integer = integer && end == len(text); !integer {
		n = 0
	}
	d.elements = append(d.elements, element{text, n, integer})
}

func (e element) compare(f element) int {
	switch {
	case e.integer && f.integer:
		return cmp.Compare(e.value, f.value)
	case e.integer:
		return -1
	case f.integer:
		return 1
	}
	return bytes.Compare(e.text, f.text)
}
