package rewrite

// OPA's compiler puts queries into the function eval, which collects their results in a set.
const (
	setAddFunction = "opa_set_add"
	evalFunction   = "eval"
)

// findResults looks at `context.result = results`, with which eval begins; context is its parameter.
func (p *part) findResults(offset uint32) {
	if offset == resultOffset && p.last[0] == (instruction{opLocalGet, 0}) && p.last[1].op == opLocalGet {
		p.results = p.last[1].target
	}
}

// resultOffset is the place of the result in the runtime's opa_eval_ctx_t {input, data, result, entrypoint}.
const resultOffset = 8

// addsResult tells whether a call of the named function puts something into the set of results; eval may build other
// sets.
func (p *part) addsResult(name string) bool {
	return name == setAddFunction && p.results != 0 && p.last[0] == (instruction{opLocalGet, p.results})
}

// resultNote replaces a call of opa_set_add(set, result) in eval by
//
//	if first == 0 { first = result } else { opa_set_add(set, first); opa_set_add(set, result) }
//
// An entry point has one result, and to put it into a set means to hash all of it. Adding the first one again for
// every further one changes nothing.
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
