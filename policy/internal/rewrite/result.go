package rewrite

// OPA's compiler puts queries into the function eval, which collects their results in a set.
const (
	setAddFunction = "opa_set_add"
	evalFunction   = "eval"
)

// resultNote replaces a call of opa_set_add(set, result) in eval by
//
//	if first == 0 { first = result } else { opa_set_add(set, first); opa_set_add(set, result) }
//
// An entry point has one result, and to put it into a set means to hash all of it. Adding the first one again for every
// further one changes nothing.
func (m *rewriter) resultNote(setAdd uint32) []byte {
	var b []byte
	b = appendU32(append(b, opGlobalSet), m.site)
	b = appendU32(append(b, opGlobalSet), m.set)
	b = appendU32(append(b, opGlobalGet), m.result)
	b = append(b, opI32Eqz, opIf, blockEmpty)
	b = appendU32(append(b, opGlobalGet), m.site)
	b = appendU32(append(b, opGlobalSet), m.result)
	b = append(b, opElse)
	for _, value := range []uint32{m.result, m.site} {
		b = appendU32(append(b, opGlobalGet), m.set)
		b = appendU32(append(b, opGlobalGet), value)
		b = appendU32(append(b, opCall), setAdd)
	}
	return append(b, opEnd)
}
