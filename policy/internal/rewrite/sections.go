package rewrite

import (
	"fmt"
	"math"
)

func (m *rewriter) memorySection() []byte {
	out := []byte{1, 1} // one memory, with a maximum
	out = appendU32(out, m.minPages)
	return appendU32(out, m.opts.MaxPages)
}

func (m *rewriter) globalSection(body []byte) ([]byte, error) {
	r := &reader{b: body}
	start := 0
	r.repeat(func() {
		if start == 0 {
			start = r.at
		}
		r.bytes(2) // type and mutability
		for {
			op, _, err := r.instruction()
			if err != nil {
				r.fail(err)
			}
			if op == opEnd || r.err != nil {
				return
			}
		}
	})
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("read globals: %w", err)
	}
	out := appendU32(nil, m.globals+newGlobals)
	out = append(out, body[start:]...)
	// The fuel lasts for the start function, which is OPA's own and ends, and runs before the host can set anything.
	for _, initial := range [newGlobals]int32{math.MaxInt32} {
		out = append(appendS32(append(out, typeI32, 1, opI32Const), initial), opEnd)
	}
	return out, nil
}

func (m *rewriter) exportSection(body []byte) ([]byte, error) {
	r := &reader{b: body}
	var kept []byte
	count := r.repeat(func() {
		start := r.at
		name, kind, index := r.name(), r.byte(), r.u32()
		if kind == exportGlobal && index >= m.globals {
			r.fail(fmt.Errorf("%w: export %q is global %d of %d", ErrUnsupported, name, index, m.globals))
			return
		}
		kept = append(kept, body[start:r.at]...)
	})
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("read exports: %w", err)
	}
	out := append(appendU32(nil, count+4), kept...)
	out = appendU32(append(appendName(out, FuelExport), exportGlobal), m.fuel)
	out = appendU32(append(appendName(out, FaultExport), exportGlobal), m.fault)
	out = appendU32(append(appendName(out, SiteExport), exportGlobal), m.site)
	return appendU32(append(appendName(out, ResultExport), exportGlobal), m.result), nil
}

const exportGlobal = 3
