package rewrite

import (
	"errors"
	"fmt"
)

var (
	errShort = errors.New("ends early")
	errLong  = errors.New("integer too long")
	errRest  = errors.New("more bytes than expected")
)

// reader walks a byte slice and keeps the first error, so that a caller checks once after several reads. After an
// error every read returns zero values and repeat stops.
type reader struct {
	b   []byte
	at  int
	err error
}

func (r *reader) done() bool { return r.err != nil || r.at >= len(r.b) }

// finish returns the first error, or one if not all bytes were read.
func (r *reader) finish() error {
	if !r.done() {
		r.fail(errRest)
	}
	return r.err
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d: %w", r.at, err)
	}
	r.at = len(r.b)
}

// repeat reads a count and calls read that many times, or until there is an error: the count itself cannot be trusted.
func (r *reader) repeat(read func()) (count uint32) {
	count = r.u32()
	for i := uint32(0); i < count && r.err == nil; i++ {
		read()
	}
	return count
}

func (r *reader) byte() byte {
	if r.at >= len(r.b) {
		r.fail(errShort)
		return 0
	}
	c := r.b[r.at]
	r.at++
	return c
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)-r.at) {
		r.fail(errShort)
		return nil
	}
	s := r.b[r.at : r.at+int(n)]
	r.at += int(n)
	return s
}

func (r *reader) name() string { return string(r.bytes(r.u32())) }

// u32 reads an unsigned LEB128 of at most 32 bits.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if v > 0xffffffff {
				break
			}
			return uint32(v)
		}
	}
	r.fail(errLong)
	return 0
}

// skipLEB passes over one LEB128 of at most max bytes, signed or not.
func (r *reader) skipLEB(maxBytes int) {
	for range maxBytes {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail(errLong)
}

func appendU32(out []byte, v uint32) []byte {
	for v >= 0x80 {
		out = append(out, byte(v)|0x80)
		v >>= 7
	}
	return append(out, byte(v))
}

func appendS32(out []byte, v int32) []byte { return appendS64(out, int64(v)) }

func appendS64(out []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(out, c)
		}
		out = append(out, c|0x80)
	}
}

func appendName(out []byte, s string) []byte {
	return append(appendU32(out, uint32(len(s))), s...)
}
