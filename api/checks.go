package api

import "bytes"

// checkOutcome is how one check of a verdict came out.
type checkOutcome struct{ id, outcome, enforcement string }

// eachCheck visits the checks of a verdict in the form in which package policy writes it. It looks at every byte once
// and at few twice: a decoder would take longer for this count than the policy for its verdict.
func eachCheck(verdict []byte, visit func(id, outcome, enforcement []byte)) {
	_, rest, _ := bytes.Cut(verdict, []byte(`"checks":[`))
	var key, id, outcome, enforcement []byte
	for depth := 0; len(rest) > 0; {
		c := rest[0]
		rest = rest[1:]
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return
			}
			if depth == 0 {
				visit(id, outcome, enforcement)
			}
		case '"':
			end := stringEnd(rest)
			text := rest[:end]
			rest = rest[min(end+1, len(rest)):]
			switch {
			case depth != 1:
			case len(rest) > 0 && rest[0] == ':':
				key = text
			case string(key) == "id":
				id = text
			case string(key) == "outcome":
				outcome = text
			case string(key) == "enforcement":
				enforcement = text
			}
		}
	}
}

// stringEnd is the index of the quote that ends the JSON string which b starts inside of.
func stringEnd(b []byte) int {
	for i := 0; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		backslashes := 0
		for backslashes < i && b[i-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return i
		}
		i++
	}
}
