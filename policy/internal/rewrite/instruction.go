package rewrite

import "fmt"

// instruction passes over one instruction with its immediates and returns its opcode with the index of what it calls
// or accesses, or the offset of a load or store. It knows the MVP, sign extension, saturating conversion and bulk
// memory, which is all that OPA's compiler and its C runtime use; any other opcode is refused rather than skipped by
// guess.
func (r *reader) instruction() (op byte, index uint32, err error) {
	op = r.byte()
	switch {
	case op == 0x02 || op == opLoop || op == opIf: // block, loop, if: block type
		r.skipLEB(5)
	case op == 0x0c || op == 0x0d: // br, br_if
		r.u32()
	case op == 0x0e: // br_table
		r.repeat(func() { r.u32() })
		r.u32()
	case op == opCall, op >= 0x20 && op <= 0x24: // call, locals and globals
		index = r.u32()
	case op == 0x11: // call_indirect
		r.u32()
		r.u32()
	case op >= 0x28 && op <= 0x3e: // loads and stores: alignment, offset
		r.u32()
		index = r.u32()
	case op == 0x3f || op == 0x40: // memory.size, memory.grow
		r.byte()
	case op == opI32Const:
		r.skipLEB(5)
	case op == 0x42: // i64.const
		r.skipLEB(10)
	case op == 0x43: // f32.const
		r.bytes(4)
	case op == 0x44: // f64.const
		r.bytes(8)
	case op <= 0x01, op == 0x05, op == opEnd, op == 0x0f, op == 0x1a, op == 0x1b, op >= opI32Eqz && op <= 0xc4:
		// no immediates
	case op == 0xfc:
		err = r.extended()
	default:
		err = fmt.Errorf("%w: opcode 0x%02x", ErrUnsupported, op)
	}
	if err == nil {
		err = r.err
	}
	return op, index, err
}

func (r *reader) extended() error {
	switch sub := r.u32(); {
	case sub <= 7: // saturating conversions
	case sub == 8: // memory.init: data index, memory
		r.u32()
		r.byte()
	case sub == 9: // data.drop
		r.u32()
	case sub == 10: // memory.copy
		r.bytes(2)
	case sub == 11: // memory.fill
		r.byte()
	default:
		return fmt.Errorf("%w: opcode 0xfc %d", ErrUnsupported, sub)
	}
	return nil
}
