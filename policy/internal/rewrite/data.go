package rewrite

import "fmt"

// readData raises minPages to what the module's data needs. OPA's compiler sizes the imported memory before it adds
// its last segments, and relies on hosts to provide a page more; where that page is missing depends on the size of the
// policy.
func (m *rewriter) readData(body []byte) error {
	r := &reader{b: body}
	r.repeat(func() {
		flags, op, offset, end := r.byte(), r.byte(), r.s32(), r.byte()
		if r.err == nil && (flags != 0 || op != opI32Const || offset < 0 || end != opEnd) {
			r.fail(fmt.Errorf("%w: a data segment has no plain offset", ErrUnsupported))
		}
		size := r.u32()
		r.bytes(size)
		top := uint64(max(offset, 0)) + uint64(size)
		m.minPages = max(m.minPages, uint32((top+pageSize-1)/pageSize))
	})
	if err := r.finish(); err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	if m.minPages > m.opts.MaxPages {
		return fmt.Errorf("%w: its data needs %d pages of memory, the limit is %d",
			ErrUnsupported, m.minPages, m.opts.MaxPages)
	}
	return nil
}

const pageSize = 65536

// s32 reads a signed LEB128 of at most 32 bits.
func (r *reader) s32() int32 {
	var v int64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		v |= int64(c&0x7f) << shift
		if c < 0x80 {
			if c&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return int32(v)
		}
	}
	r.fail(errLong)
	return 0
}
