package rewrite

import "fmt"

// The opcodes that matter here.
const (
	opIf        = 0x04
	opLoop      = 0x03
	opEnd       = 0x0b
	opCall      = 0x10
	opGlobalGet = 0x23
	opGlobalSet = 0x24
	opI32Const  = 0x41
	opI32Eqz    = 0x45
	opI32LtS    = 0x48
	opI32Add    = 0x6a
	opI32Sub    = 0x6b
	opI32Shl    = 0x74
	opI32Load   = 0x28
	opI32Store  = 0x36
	opLocalGet  = 0x20
	opLocalTee  = 0x22
	blockEmpty  = 0x40
)

func (m *rewriter) codeSection(body []byte) ([]byte, error) {
	r := &reader{b: body}
	count := r.u32()
	out := appendU32(make([]byte, 0, len(body)+len(body)/4), count)
	fuel, entry := m.fuelCheck(), []byte(nil)
	for i := range count {
		index := m.importedFunctions + i
		code := r.bytes(r.u32())
		if r.err != nil {
			return nil, fmt.Errorf("read code of function %d: %w", index, r.err)
		}
		// Loops bound what big inputs cost. Only rules can also build loop-free cascades of calls, so only they pay at
		// their entry; without a name section every function is taken for a rule.
		name, named := m.names[index]
		rule := !named || policyFunction.MatchString(name)
		entry = nil
		if rule {
			entry = fuel
		}
		rewritten := m.memoBody(index)
		if rewritten == nil {
			var err error
			if rewritten, err = m.function(code, name, entry, fuel, rule); err != nil {
				return nil, fmt.Errorf("rewrite function %d (%s): %w", index, name, err)
			}
		}
		out = appendU32(out, uint32(len(rewritten)))
		out = append(out, rewritten...)
	}
	return out, r.err
}

// function copies one body, adding the fuel check at its entry and behind every loop opcode and, in rules, the fault note
// behind every call of a builtin that fails by returning no value.
func (m *rewriter) function(code []byte, name string, entry, fuel []byte, rule bool) ([]byte, error) {
	r := &reader{b: code}
	for range r.u32() {
		r.u32()
		r.byte()
	}
	out := make([]byte, 0, len(code)+len(code)/3)
	out = append(out, code[:r.at]...)
	out = append(out, entry...)
	copied := r.at
	for !r.done() {
		op, callee, err := r.instruction()
		if err != nil {
			return nil, err
		}
		var added []byte
		switch {
		case op == opLoop:
			added = fuel
		case op == opCall && rule && m.nullable[callee]:
			m.sites = append(m.sites, Site{Rule: name, Builtin: m.names[callee]})
			added = m.faultNote(len(m.sites))
		default:
			continue
		}
		out = append(out, code[copied:r.at]...)
		out = append(out, added...)
		copied = r.at
	}
	return append(out, code[copied:]...), r.err
}

// fuelCheck is `fuel--; if fuel < 0 { opa_abort(-1) }`.
func (m *rewriter) fuelCheck() []byte {
	var b []byte
	b = appendU32(append(b, opGlobalGet), m.fuel)
	b = append(b, opI32Const, 1, opI32Sub)
	b = appendU32(append(b, opGlobalSet), m.fuel)
	b = appendU32(append(b, opGlobalGet), m.fuel)
	b = append(b, opI32Const, 0, opI32LtS, opIf, blockEmpty)
	b = append(b, opI32Const, 0x7f) // -1, the sentinel
	b = appendU32(append(b, opCall), m.abort)
	return append(b, opEnd)
}

// faultNote is `if result == 0 && fault == 0 { fault = site }`, leaving the result on the stack. OPA's builtins return no
// value where they fail and the rule goes on as undefined, which must not become an answer.
func (m *rewriter) faultNote(site int) []byte {
	var b []byte
	b = appendU32(append(b, opGlobalSet), m.scratch)
	b = appendU32(append(b, opGlobalGet), m.scratch)
	b = append(b, opI32Eqz, opIf, blockEmpty)
	b = appendU32(append(b, opGlobalGet), m.fault)
	b = append(b, opI32Eqz, opIf, blockEmpty, opI32Const)
	b = appendS32(b, int32(site))
	b = appendU32(append(b, opGlobalSet), m.fault)
	b = append(b, opEnd, opEnd)
	return appendU32(append(b, opGlobalGet), m.scratch)
}

func appendS32(out []byte, v int32) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(out, c)
		}
		out = append(out, c|0x80)
	}
}
