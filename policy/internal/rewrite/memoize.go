package rewrite

import "math"

// OPA's runtime remembers the value of each rule in a hash table keyed by boxed numbers, which costs as much as many a
// rule. Rules are numbered densely, so here the table becomes an array of one word per rule behind a link to the frame
// before it, which `with` needs:
//
//	frame {previous *frame, values [rules]*value}
type memo struct {
	// init, push, pop, insert and get are the indexes of the functions to replace; malloc is what makes a frame.
	init, push, pop, insert, get, malloc uint32
	// first and count delimit the rules.
	first, count uint32
}

// planMemo finds the functions by name; the compiler drops push and pop from a module without `with`. Where another
// one is missing the module keeps its own, which are right, only slower.
func (m *rewriter) planMemo() {
	p := &memo{first: math.MaxUint32}
	last := uint32(0)
	at := map[string]*uint32{
		"opa_memoize_init": &p.init, "opa_memoize_push": &p.push, "opa_memoize_pop": &p.pop,
		"opa_memoize_insert": &p.insert, "opa_memoize_get": &p.get, "opa_malloc": &p.malloc,
	}
	for i, name := range m.names {
		if policyFunction.MatchString(name) {
			p.first, last = min(p.first, i), max(last, i)
		} else if field := at[name]; field != nil && i >= m.importedFunctions {
			*field = i
		}
	}
	paired := (p.push == 0) == (p.pop == 0)
	if p.first > last || p.init == 0 || p.insert == 0 || p.get == 0 || p.malloc == 0 || !paired {
		return
	}
	p.count = last - p.first + 1
	m.memo = p
}

// memoBody returns the new body of a memoize function, or nil for any other.
func (m *rewriter) memoBody(index uint32) []byte {
	p := m.memo
	if p == nil {
		return nil
	}
	none, oneLocal := []byte{0}, []byte{1, 1, typeI32}
	switch index {
	case p.init:
		b := append(oneLocal, opI32Const, 0)
		b = appendU32(append(b, opGlobalSet), m.frame)
		return m.newFrame(b)
	case p.push:
		return m.newFrame(oneLocal)
	case p.pop:
		b := appendU32(append(none, opGlobalGet), m.frame)
		b = append(b, opI32Load, 2, 0)
		b = appendU32(append(b, opGlobalSet), m.frame)
		return append(b, opEnd)
	case p.insert:
		return append(m.slot(none), opLocalGet, 1, opI32Store, 2, 4, opEnd)
	case p.get:
		return append(m.slot(none), opI32Load, 2, 4, opEnd)
	}
	return nil
}

// newFrame allocates a frame with no values and links it to the present one.
func (m *rewriter) newFrame(b []byte) []byte {
	values := int32(m.memo.count * 4)
	b = appendS32(append(b, opI32Const), values+4)
	b = appendU32(append(b, opCall), m.memo.malloc)
	b = append(b, opLocalTee, 0, opI32Const, 4, opI32Add, opI32Const, 0, opI32Const)
	b = append(appendS32(b, values), 0xfc, 11, 0) // memory.fill
	b = appendU32(append(b, opLocalGet, 0, opGlobalGet), m.frame)
	b = append(b, opI32Store, 2, 0, opLocalGet, 0)
	b = appendU32(append(b, opGlobalSet), m.frame)
	return append(b, opEnd)
}

// slot leaves frame + 4*(parameter 0 - first) on the stack.
func (m *rewriter) slot(b []byte) []byte {
	b = appendU32(append(b, opGlobalGet), m.frame)
	b = appendS32(append(b, opLocalGet, 0, opI32Const), int32(m.memo.first))
	return append(b, opI32Sub, opI32Const, 2, opI32Shl, opI32Add)
}
