package vllm

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// parseInt reads a whole number as Python's int does: spaces around it, one sign, underscores between digits. It
// reports false also for a number beyond 64 bits, which no size can be.
func parseInt(text string) (int64, bool) {
	digits, ok := pythonDigits(text)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

// parseFloat reads a number as Python's float does; that includes inf and nan, but no hexadecimal.
func parseFloat(text string) (float64, bool) {
	digits, ok := pythonDigits(text)
	if !ok || strings.ContainsAny(digits, "xXpP") {
		return 0, false
	}
	f, err := strconv.ParseFloat(digits, 64)
	// Beyond a double, Python gives infinity where Go reports an error beside it.
	return f, err == nil || math.IsInf(f, 0)
}

// pythonDigits takes away what Python allows around and inside a number.
func pythonDigits(text string) (string, bool) {
	text = strings.TrimSpace(text)
	for i := range text {
		if text[i] == '_' && (i == 0 || i+1 == len(text) || !isDigit(text[i-1]) || !isDigit(text[i+1])) {
			return "", false
		}
	}
	return strings.ReplaceAll(text, "_", ""), true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// units are the suffixes of numbers that vLLM reads for people: small letters decimal, capital ones binary.
var units = map[byte]float64{
	'k': 1e3, 'm': 1e6, 'g': 1e9, 't': 1e12,
	'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40,
}

var human = regexp.MustCompile(`^(\d+)(\.\d+)?([kKmMgGtT])$`)

// humanInt reads a number with a unit, e.g. 80g, and writes it without. A fraction is allowed with a decimal unit
// only.
func humanInt(text string) (string, bool) {
	m := human.FindStringSubmatch(text)
	if m == nil || m[2] != "" && m[3] < "a" {
		return "", false
	}
	f, err := strconv.ParseFloat(m[1]+m[2], 64)
	if err != nil {
		return "", false
	}
	return writeWhole(f * units[m[3][0]]), true
}

// writeWhole writes the whole part of a number in digits.
func writeWhole(f float64) string { return strconv.FormatFloat(math.Trunc(f), 'f', -1, 64) }

var (
	quoted   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	withUnit = regexp.MustCompile(`\b\d+(?:\.\d+)?[kKmMgGtT]\b`)
)

// expandUnits writes the numbers with units in a JSON text without them, outside its strings.
func expandUnits(text string) string {
	if !withUnit.MatchString(text) {
		return text
	}
	var out strings.Builder
	plain := func(part string) {
		out.WriteString(withUnit.ReplaceAllStringFunc(part, func(number string) string {
			if whole, ok := humanInt(number); ok {
				return whole
			}
			return number
		}))
	}
	from := 0
	for _, at := range quoted.FindAllStringIndex(text, -1) {
		plain(text[from:at[0]])
		out.WriteString(text[at[0]:at[1]])
		from = at[1]
	}
	plain(text[from:])
	return out.String()
}

// isVersion tells whether an engine version is at least major.minor; one that is not known is taken to be new.
func isVersion(version string, major, minor int) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return true
	}
	gotMajor, errMajor := strconv.Atoi(parts[0])
	gotMinor, errMinor := strconv.Atoi(parts[1])
	if errMajor != nil || errMinor != nil {
		return true
	}
	return gotMajor > major || gotMajor == major && gotMinor >= minor
}
