package host

import "encoding/binary"

// number writes an integer where 32 bits hold it. The runtime keeps larger ones as text as well: its arithmetic prints
// integers with "%d" and so would see their low 32 bits only. It keeps -0 as text, too, which hashes apart from 0.
func (e *encoder) number() uint32 {
	n, end, integer := scanNumber(e.text, e.at)
	if end == e.at {
		return e.unexpected("a value")
	}
	start := uint32(e.at)
	e.at = end
	if integer && int64(int32(n)) == n {
		return e.integer(int32(n))
	}
	addr := e.take(numberBytes)
	if addr == 0 {
		return 0
	}
	e.put(addr, tagNumber|numberRef<<8)
	e.put(addr+8, e.base+start)
	e.put(addr+12, uint32(end)-start)
	e.put(addr+16, 0)
	return addr
}

func (e *encoder) integer(n int32) uint32 {
	if uint32(n) < sharedIntegers {
		return e.shared + constantBytes + uint32(n)*integerBytes
	}
	addr := e.take(integerBytes)
	if addr != 0 {
		e.putInteger(addr, n)
	}
	return addr
}

func (e *encoder) putInteger(addr uint32, n int32) {
	b := (*[integerBytes]byte)(e.mem[addr:])
	binary.LittleEndian.PutUint32(b[:], tagNumber|numberInt<<8)
	binary.LittleEndian.PutUint64(b[8:], uint64(n))
}

// integers writes the integers from first to end at addr.
func (e *encoder) integers(addr uint32, first, end int32) {
	for n := first; n < end; n++ {
		e.putInteger(addr, n)
		addr += integerBytes
	}
}

// scanNumber reads a JSON number at start and returns the place behind it, which is start where there is none. integer
// tells that its value is n: it has no fraction and no exponent, at most 18 digits, and is not -0.
func scanNumber(text []byte, start int) (n int64, end int, integer bool) {
	i := start
	negative := i < len(text) && text[i] == '-'
	if negative {
		i++
	}
	first := i
	for ; i < len(text) && text[i]-'0' < 10; i++ {
		n = n*10 + int64(text[i]-'0') // wraps around where it is not used
	}
	digits := i - first
	if digits == 0 || digits > 1 && text[first] == '0' {
		return 0, start, false
	}
	if i < len(text) && (text[i] == '.' || text[i] == 'e' || text[i] == 'E') {
		return 0, scanFraction(text, start, i), false
	}
	if negative {
		n = -n
	}
	return n, i, digits <= 18 && !(negative && n == 0)
}

// scanFraction continues scanNumber behind the integer's digits.
func scanFraction(text []byte, start, i int) (end int) {
	digits := func() bool {
		from := i
		for i < len(text) && text[i]-'0' < 10 {
			i++
		}
		return i > from
	}
	if text[i] == '.' {
		i++
		if !digits() {
			return start
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if !digits() {
			return start
		}
	}
	return i
}
