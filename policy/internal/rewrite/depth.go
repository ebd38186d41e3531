package rewrite

// The functions of OPA's runtime that make values of texts in a policy, by recursion. Nothing else that a policy can do
// makes values nested deeper than its own source, so all recursion of the runtime is bounded where these are.
const (
	unmarshalFunction = "opa_json_unmarshal"
	isValidFunction   = "opa_json_is_valid"
)

// depthPrologue is put before the body of a function (value) that parses a string. Where brackets are open more than
// MaxDepth deep, also inside of strings, it calls opa_abort(TooDeep). p, end and depth are new locals (i32) from first on.
//
//	if value is a string { for p := text; p < end; p++ { depth += p is [ or {; depth -= p is ] or } ... } }
func (m *rewriter) depthPrologue(first byte) []byte {
	p, end, depth := first, first+1, first+2
	// Bit 5 is what an opening bracket lacks of an opening brace, and likewise the closing ones.
	is := func(brace byte) []byte {
		return []byte{opLocalGet, p, opI32Load8U, 0, 0, opI32Const, 0x20, opI32Or, opI32Const, 0x80 | brace, 0, opI32Eq}
	}
	b := append(ifString(), opLocalGet, 0, opI32Load, 2, 8, opLocalTee, p, opLocalGet, 0, opI32Load, 2, 4, opI32Add,
		opLocalSet, end, opBlock, blockEmpty, opLoop, blockEmpty)
	b = append(b, m.fuelCheck()...)
	b = append(b, opLocalGet, p, opLocalGet, end, opI32GeU, opBrIf, 1, opLocalGet, depth)
	b = append(append(b, is('{')...), opI32Add)
	b = append(append(b, is('}')...), opI32Sub, opLocalTee, depth)
	b = appendS32(append(b, opI32Const), int32(m.opts.MaxDepth))
	b = appendS32(append(b, opI32GtS, opIf, blockEmpty, opI32Const), TooDeep)
	b = append(appendU32(append(b, opCall), m.abort), opEnd)
	return append(append(b, advance(p, 1)...), opBr, 0, opEnd, opEnd, opEnd)
}

// ifString is `if value is a string {`, of the parameter 0.
func ifString() []byte {
	return []byte{
		opLocalGet, 0, opI32Load8U, 0, 0, opI32Const, tagString, opI32Eq,
		opLocalGet, 0, opI32Load8U, 0, 0, opI32Const, tagStringInterned, opI32Eq, opI32Or, opIf, blockEmpty,
	}
}
