package host

import "encoding/binary"

// array collects the element addresses first, since their number is not known before the end.
func (e *encoder) array() uint32 {
	mark := len(e.stack)
	e.at++
	for e.err == nil && e.peek() != ']' {
		v := e.value()
		if v == 0 {
			return 0
		}
		e.stack = append(e.stack, member{value: v})
		if e.peek() == ',' {
			e.at++
		}
	}
	e.at++
	elements := e.stack[mark:]
	n := uint32(len(elements))
	addr := e.header(16, tagArray, 0)
	table := e.alloc(n * 8)
	for i, m := range elements {
		e.put(table+uint32(i)*8, e.integer(int64(i)))
		e.put(table+uint32(i)*8+4, m.value)
	}
	e.stack = e.stack[:mark]
	e.put(addr+4, table)
	e.put(addr+8, n)
	e.put(addr+12, n)
	return addr
}

func (e *encoder) object() uint32 {
	mark := len(e.stack)
	e.at++
	for e.err == nil && e.peek() != '}' {
		if e.peek() != '"' {
			return 0
		}
		key, hash := e.string()
		e.peek()
		e.at++ // the colon
		v := e.value()
		if v == 0 {
			return 0
		}
		e.stack = append(e.stack, member{key, hash, v})
		if e.peek() == ',' {
			e.at++
		}
	}
	e.at++
	addr := e.hashed(e.stack[mark:])
	e.stack = e.stack[:mark]
	return addr
}

// hashed writes an object. Its table is at most 7/10 full, as the runtime keeps it.
func (e *encoder) hashed(members []member) uint32 {
	n := uint32(len(members))
	buckets := uint32(minBuckets)
	for n*10 > buckets*7 {
		buckets *= 2
	}
	addr := e.header(16, tagObject, 0)
	table := e.alloc(buckets * 4)
	elems := e.alloc(n * 12)
	if e.err != nil {
		return 0
	}
	clear(e.mem[table : table+buckets*4])
	for i, m := range members {
		elem, slot := elems+uint32(i)*12, table+m.hash%buckets*4
		e.put(elem, m.key)
		e.put(elem+4, m.value)
		e.put(elem+8, binary.LittleEndian.Uint32(e.mem[slot:]))
		e.put(slot, elem)
	}
	e.put(addr+4, table)
	e.put(addr+8, buckets)
	e.put(addr+12, n)
	return addr
}
