package host

import (
	"bytes"
	"encoding/binary"
)

// maxChain bounds the members of an object that share a bucket. Chance gives about ten where there are a million
// members; names that were chosen to collide would cost the square of their number.
const maxChain = 128

// enter opens an array or object, and fails where too many are open.
func (e *encoder) enter() bool {
	e.at++
	e.depth++
	if e.depth > maxDepth {
		e.refuse(ErrStack, "the input is nested deeper than %d", maxDepth)
		return false
	}
	return true
}

// more tells whether another member follows; the one that closes ends the array or object.
func (e *encoder) more(closing byte, want string) bool {
	switch e.peek() {
	case ',':
		e.at++
		return true
	case closing:
		e.at++
		e.depth--
	default:
		e.unexpected(want)
	}
	return false
}

// array collects the addresses of its elements first, since their number is not known before the end.
func (e *encoder) array() uint32 {
	if !e.enter() {
		return 0
	}
	mark := len(e.stack)
	if e.peek() == ']' {
		e.at++
		e.depth--
	} else {
		for more := true; more; more = e.more(']', "a comma or the array's end") {
			v := e.value()
			if v == 0 {
				return 0
			}
			e.stack = append(e.stack, member{value: v})
		}
	}
	elements := e.stack[mark:]
	e.stack = e.stack[:mark]
	if e.err != nil {
		return 0
	}
	return e.arrayOf(elements)
}

func (e *encoder) arrayOf(elements []member) uint32 {
	n := uint32(len(elements))
	e.reach(n)
	addr := e.take(arrayBytes + len(elements)*8)
	if addr == 0 || e.err != nil {
		return 0
	}
	table := addr + arrayBytes
	e.put(addr, tagArray)
	e.put(addr+4, table)
	e.put(addr+8, n)
	e.put(addr+12, n)
	index := e.shared + constantBytes
	for i, m := range elements {
		if i == sharedIntegers {
			index = e.indexes
		}
		e.put(table, index)
		e.put(table+4, m.value)
		table += 8
		index += integerBytes
	}
	return addr
}

// reach makes the indexes of arrays of up to n elements; those of long arrays are made once per document.
func (e *encoder) reach(n uint32) {
	if n <= sharedIntegers || n <= e.indexed {
		return
	}
	if e.indexes = e.take(int(n-sharedIntegers) * integerBytes); e.indexes != 0 {
		e.integers(e.indexes, sharedIntegers, int32(n))
		e.indexed = n
	}
}

func (e *encoder) object() uint32 {
	if !e.enter() {
		return 0
	}
	mark := len(e.stack)
	if e.peek() == '}' {
		e.at++
		e.depth--
	} else {
		for more := true; more; more = e.more('}', "a comma or the object's end") {
			if !e.member() {
				return 0
			}
		}
	}
	members := e.stack[mark:]
	e.stack = e.stack[:mark]
	if e.err != nil {
		return 0
	}
	return e.objectOf(members)
}

func (e *encoder) member() bool {
	if e.peek() != '"' {
		e.unexpected("a member's name")
		return false
	}
	key, hash := e.key()
	if key == 0 {
		return false
	}
	if e.peek() != ':' {
		e.unexpected("a colon")
		return false
	}
	e.at++
	v := e.value()
	if v == 0 {
		return false
	}
	e.stack = append(e.stack, member{key, hash, v})
	return true
}

// objectOf writes an object. As in the runtime its table is at most 7/10 full and each chain is sorted by key, so that
// both iterate in the same order.
func (e *encoder) objectOf(members []member) uint32 {
	n, buckets := len(members), minBuckets
	for n*10 > buckets*7 {
		buckets *= 2
	}
	addr := e.take(objectBytes + buckets*4 + n*elemBytes)
	if addr == 0 {
		return 0
	}
	table := addr + objectBytes
	elem := table + uint32(buckets)*4
	e.put(addr, tagObject)
	e.put(addr+4, table)
	e.put(addr+8, uint32(buckets))
	e.put(addr+12, uint32(n))
	clear(e.mem[table:elem])
	for _, m := range members {
		link := table + m.hash%uint32(buckets)*4
		next := e.u32(link)
		if next != 0 {
			if link, next = e.link(link, m.key); link == 0 {
				return 0
			}
		}
		b := (*[elemBytes]byte)(e.mem[elem:])
		binary.LittleEndian.PutUint32(b[:], m.key)
		binary.LittleEndian.PutUint32(b[4:], m.value)
		binary.LittleEndian.PutUint32(b[8:], next)
		e.put(link, elem)
		elem += elemBytes
	}
	return addr
}

// link returns the place of the pointer in a chain where the element for key belongs, and what it points to now; or 0
// if the element must not be there.
func (e *encoder) link(link, key uint32) (place, next uint32) {
	for range maxChain {
		next := e.u32(link)
		if next == 0 {
			return link, 0
		}
		switch bytes.Compare(e.keyBytes(key), e.keyBytes(e.u32(next))) {
		case -1:
			return link, next
		case 0:
			e.refuse(ErrInput, "the name %q stands twice in one object", e.keyBytes(key))
			return 0, 0
		}
		link = next + 8
	}
	e.refuse(ErrInput, "more than %d names in one object have colliding hashes, such as %q", maxChain, e.keyBytes(key))
	return 0, 0
}
