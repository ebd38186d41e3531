package rewrite

import "fmt"

// The opcodes that matter here.
const (
	opBlock     = 0x02
	opLoop      = 0x03
	opIf        = 0x04
	opElse      = 0x05
	opEnd       = 0x0b
	opBr        = 0x0c
	opBrIf      = 0x0d
	opReturn    = 0x0f
	opCall      = 0x10
	opLocalGet  = 0x20
	opLocalSet  = 0x21
	opLocalTee  = 0x22
	opGlobalGet = 0x23
	opGlobalSet = 0x24
	opI32Load   = 0x28
	opI64Load   = 0x29
	opI32Load8U = 0x2d
	opI64Load8U = 0x31
	opI32Store  = 0x36
	opI32Const  = 0x41
	opI64Const  = 0x42
	opI32Eqz    = 0x45
	opI32Eq     = 0x46
	opI32LtS    = 0x48
	opI32GeU    = 0x4f
	opI64Ne     = 0x52
	opI32Add    = 0x6a
	opI32Sub    = 0x6b
	opI32Or     = 0x72
	opI32Shl    = 0x74
	opI32ShrU   = 0x76
	opI64Mul    = 0x7e
	opI64Xor    = 0x85
	opI64ShrU   = 0x88

	opI32WrapI64    = 0xa7
	opI64ExtendI32U = 0xad

	blockEmpty = 0x40
	typeI32    = 0x7f
	typeI64    = 0x7e
)

func (m *rewriter) codeSection(body []byte) ([]byte, error) {
	r := &reader{b: body}
	var bodies []byte
	index := m.importedFunctions
	count := r.repeat(func() {
		code := r.bytes(r.u32())
		if r.err != nil {
			return
		}
		rewritten := m.memoBody(index)
		if rewritten == nil {
			var err error
			if rewritten, err = m.function(index, code); err != nil {
				r.fail(fmt.Errorf("function %d (%s): %w", index, m.names[index], err))
				return
			}
		}
		bodies = appendU32(bodies, uint32(len(rewritten)))
		bodies = append(bodies, rewritten...)
		index++
	})
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("rewrite code: %w", err)
	}
	return append(appendU32(nil, count), bodies...), nil
}

// function copies one body, adding the fuel check behind every loop opcode and, in rules, at the entry too, the number
// of the site before every call of a host builtin, and the fault note behind every call of a builtin of the module's
// own that fails by returning no value.
func (m *rewriter) function(index uint32, code []byte) ([]byte, error) {
	// Loops bound what big inputs cost. Only rules can also build loop-free cascades of calls, so only they pay at their
	// entry. Queries are compiled into eval. Without a name section every function is taken for a rule.
	name, named := m.names[index]
	rule := !named || name == evalFunction || policyFunction.MatchString(name)
	r := &reader{b: code}
	groups := r.u32()
	declarations := r.at
	locals := uint64(0)
	for i := uint32(0); i < groups && r.err == nil; i++ { // the local variables: a count and a type
		locals += uint64(r.u32())
		r.byte()
	}
	if r.err != nil {
		return nil, r.err
	}
	out := make([]byte, 0, len(code)+len(code)/3)
	metered := true
	switch {
	case rule:
		out = append(append(out, code[:r.at]...), m.fuelCheck()...)
	case m.known && name == hashFunction:
		if locals > maxHashLocals {
			return nil, fmt.Errorf("%w: it has %d local variables", ErrUnsupported, locals)
		}
		out = appendU32(out, groups+2)
		out = append(append(out, code[declarations:r.at]...), 1, typeI64, 2, typeI32)
		out = append(out, m.hashPrologue(byte(1+locals))...)
	case m.known && name == compareFunction:
		// What is left to its loop is a few bytes.
		metered = false
		out = append(append(out, code[:r.at]...), m.comparePrologue()...)
	default:
		out = append(out, code[:r.at]...)
	}
	copied := r.at
	add := func(end int, b []byte) {
		out = append(append(out, code[copied:end]...), b...)
		copied = end
	}
	for !r.done() {
		start := r.at
		op, target, err := r.instruction()
		switch {
		case err != nil:
			return nil, err
		case op == opLoop && metered:
			add(r.at, m.fuelCheck())
		case op == opGlobalGet || op == opGlobalSet:
			if target >= m.globals {
				return nil, fmt.Errorf("%w: it uses global %d of %d", ErrUnsupported, target, m.globals)
			}
		case op == opCall && m.known && name == evalFunction && m.names[target] == setAddFunction:
			add(start, m.resultNote(target))
			copied = r.at
		case op == opCall && rule && m.hostCalls[target] != "":
			add(start, m.siteNote(m.addSite(name, m.hostCalls[target])))
		case op == opCall && rule && m.nullable[target] != "":
			add(r.at, m.faultNote(m.addSite(name, m.nullable[target])))
		}
	}
	return append(out, code[copied:]...), r.err
}

// addSite returns the number of a new site.
func (m *rewriter) addSite(rule, builtin string) int32 {
	m.sites = append(m.sites, Site{Rule: rule, Builtin: builtin})
	return int32(len(m.sites))
}

// fuelCheck is `fuel--; if fuel < 0 { opa_abort(Sentinel) }`.
func (m *rewriter) fuelCheck() []byte {
	var b []byte
	b = appendU32(append(b, opGlobalGet), m.fuel)
	b = append(b, opI32Const, 1, opI32Sub)
	b = appendU32(append(b, opGlobalSet), m.fuel)
	b = appendU32(append(b, opGlobalGet), m.fuel)
	b = append(b, opI32Const, 0, opI32LtS, opIf, blockEmpty)
	b = appendS32(append(b, opI32Const), Sentinel)
	b = appendU32(append(b, opCall), m.abort)
	return append(b, opEnd)
}

func (m *rewriter) siteNote(site int32) []byte {
	return appendU32(append(appendS32([]byte{opI32Const}, site), opGlobalSet), m.site)
}

// faultNote is `if result == 0 && fault == 0 { fault = site }`, leaving the result on the stack. OPA's builtins return
// no value where they fail and the rule goes on as undefined, which must not become an answer. The site global is free
// here, as no host builtin is running.
func (m *rewriter) faultNote(site int32) []byte {
	var b []byte
	b = appendU32(append(b, opGlobalSet), m.site)
	b = appendU32(append(b, opGlobalGet), m.site)
	b = append(b, opI32Eqz, opIf, blockEmpty)
	b = appendU32(append(b, opGlobalGet), m.fault)
	b = append(b, opI32Eqz, opIf, blockEmpty, opI32Const)
	b = appendS32(b, site)
	b = appendU32(append(b, opGlobalSet), m.fault)
	b = append(b, opEnd, opEnd)
	return appendU32(append(b, opGlobalGet), m.site)
}
