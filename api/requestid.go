package api

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
)

// The headers of answers, in canonical form. headerID is also read from requests. headerOutcome is for launchers that
// are shell scripts: allow, deny or unknown; absent where there is no verdict.
const (
	headerID      = "X-Request-Id"
	headerOutcome = "Tiergate-Outcome"
)

// maxID is the length of the longest id that is taken from a request.
const maxID = 128

// requestID is the id that the client gave, or else a new one. An id may end up in logs and JSON, so one with other
// characters than such ids have is replaced.
func requestID(header http.Header) string {
	if given := header[headerID]; len(given) == 1 && isID(given[0]) {
		return given[0]
	}
	// An id must differ from others, not be hard to guess.
	var random [16]byte
	binary.NativeEndian.PutUint64(random[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(random[8:], rand.Uint64())
	var text [2 * len(random)]byte
	hex.Encode(text[:], random[:])
	return string(text[:])
}

func isID(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '_', c == '.', c == ':', c == '/', c == '+', c == '=', c == '@':
		default:
			return false
		}
	}
	return len(s) > 0 && len(s) <= maxID
}
