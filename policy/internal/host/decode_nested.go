package host

import (
	"bytes"
	"cmp"
	"slices"
)

// entry is a member of an object by name, or of a set by its text.
type entry struct {
	text []byte
	// value is the address of an object's member, or the value of a set's member that is an integer.
	value   int64
	integer bool
}

func (d *decoder) nested(addr uint32, tag byte, depth int) {
	if tag == tagArray {
		d.array(addr, depth)
	} else {
		d.object(addr, depth)
	}
}

func (d *decoder) array(addr uint32, depth int) {
	elems, n := d.u32(addr+4), d.u32(addr+8)
	d.out = append(d.out, '[')
	for i := uint32(0); i < n && d.err == nil; i++ {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		d.value(d.u32(elems+i*8+4), depth+1)
	}
	d.out = append(d.out, ']')
}

// elements steps through the chains of a hash table; next is the offset of the link in an element.
type elements struct {
	buckets, n, left uint32
	elem, next       uint32
}

func (d *decoder) elements(addr, next uint32) elements {
	e := elements{buckets: d.u32(addr + 4), n: d.u32(addr + 8), left: d.u32(addr + 12), next: next}
	if int(e.left) > len(d.mem)/8 {
		d.fail(ErrTrap, "has a malformed table")
	}
	return e
}

// step returns the address of the next element, or 0 behind the last. A table that has more elements than it says, or
// a cycle, fails.
func (d *decoder) step(e *elements) uint32 {
	if e.elem != 0 {
		e.elem = d.u32(e.elem + e.next)
	}
	for e.elem == 0 && e.n > 0 && d.err == nil {
		e.elem = d.u32(e.buckets)
		e.buckets += 4
		e.n--
	}
	if e.elem != 0 && e.left == 0 {
		d.fail(ErrTrap, "has a malformed table")
	}
	if d.err != nil {
		return 0
	}
	e.left--
	return e.elem
}

func (d *decoder) object(addr uint32, depth int) {
	mark := len(d.entries)
	table := d.elements(addr, 8)
	for elem := d.step(&table); elem != 0; elem = d.step(&table) {
		d.entries = append(d.entries, entry{text: d.name(d.u32(elem), depth), value: int64(d.u32(elem + 4))})
	}
	end := len(d.entries)
	sortEntries(d.entries[mark:])
	d.out = append(d.out, '{')
	for i := mark; i < end && d.err == nil; i++ {
		if i > mark {
			d.out = append(d.out, ',')
		}
		d.out = append(appendString(d.out, d.entries[i].text), ':')
		d.value(uint32(d.entries[i].value), depth+1)
	}
	d.out = append(d.out, '}')
	d.entries = d.entries[:mark]
}

// name returns an object's key; one that is not a string becomes the JSON text of its value, as OPA prints it.
func (d *decoder) name(addr uint32, depth int) []byte {
	if tag := d.slice(addr, 1); tag != nil && (tag[0] == tagString || tag[0] == tagStringInterned) {
		return d.string(addr)
	}
	start := len(d.out)
	d.value(addr, depth+1)
	text := d.keep(d.out[start:])
	d.out = d.out[:start]
	return text
}

// keep copies text to where it stays until the end of the decoding.
func (d *decoder) keep(text []byte) []byte {
	start := len(d.names)
	d.names = append(d.names, text...)
	return d.names[start:len(d.names):len(d.names)]
}

// set prints the members first and puts their texts into order then.
func (d *decoder) set(addr uint32, depth int) {
	start, mark, kept := len(d.out), len(d.entries), len(d.names)
	table := d.elements(addr, 4)
	for elem := d.step(&table); elem != 0; elem = d.step(&table) {
		from := len(d.out)
		d.value(d.u32(elem), depth+1)
		m := entry{text: d.keep(d.out[from:])}
		n, end, integer := scanNumber(m.text, 0)
		if m.integer = integer && end == len(m.text); m.integer {
			m.value = n
		}
		d.entries = append(d.entries, m)
		d.out = d.out[:from]
	}
	members := d.entries[mark:]
	sortEntries(members)
	d.out = append(d.out[:start], '[')
	for i, m := range members {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		d.out = append(d.out, m.text...)
	}
	d.out = append(d.out, ']')
	d.entries, d.names = d.entries[:mark], d.names[:kept]
}

// sortEntries puts integers first, by value, and the rest by text.
func sortEntries(list []entry) {
	if len(list) > 12 {
		slices.SortFunc(list, entry.compare)
		return
	}
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && list[j].compare(list[j-1]) < 0; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

func (e entry) compare(f entry) int {
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
