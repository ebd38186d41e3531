package host

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString writes s as a JSON string. What is not UTF-8, which base64.decode can make, becomes U+FFFD.
func appendString(out, s []byte) []byte {
	out = append(out, '"')
	for {
		n := asIs(s)
		out = append(out, s[:n]...)
		if n == len(s) {
			return append(out, '"')
		}
		c, size := s[n], 1
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, '\\', 'n')
		case c == '\t':
			out = append(out, '\\', 't')
		case c == '\r':
			out = append(out, '\\', 'r')
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			var r rune
			r, size = utf8.DecodeRune(s[n:])
			out = utf8.AppendRune(out, r)
		}
		s = s[n+size:]
	}
}

// asIs returns how many bytes at the start of s stand in JSON as they are and are ASCII. It looks at eight bytes at
// once, as plainEnd does.
func asIs(s []byte) int {
	const low, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := binary.LittleEndian.Uint64(s[i:])
		quote, backslash := w^('"'*low), w^('\\'*low)
		found := ((quote-low)&^quote | (backslash-low)&^backslash | (w-' '*low)&^w | w) & high
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(s) && s[i] != '"' && s[i] != '\\' && s[i] >= ' ' && s[i] < utf8.RuneSelf {
		i++
	}
	return i
}
