package kube

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
)

// quantity is a Kubernetes quantity such as 15Gi, 0.5, 1e3 or 250m, rounded up to a whole number as Kubernetes does.
type quantity int64

// UnmarshalJSON reads a string or a number.
func (q *quantity) UnmarshalJSON(text []byte) error {
	written := string(text)
	if len(text) > 0 && text[0] == '"' {
		if err := json.Unmarshal(text, &written); err != nil {
			return err
		}
	}
	value, err := parseQuantity(written)
	*q = quantity(value)
	return err
}

var quantityText = regexp.MustCompile(`^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)$`)

// scales are what the suffixes of a quantity stand for.
var scales = map[string]*big.Rat{
	"": big.NewRat(1, 1), "n": big.NewRat(1, 1e9), "u": big.NewRat(1, 1e6), "m": big.NewRat(1, 1e3),
	"k": power(1000, 1), "M": power(1000, 2), "G": power(1000, 3),
	"T": power(1000, 4), "P": power(1000, 5), "E": power(1000, 6),
	"Ki": power(1024, 1), "Mi": power(1024, 2), "Gi": power(1024, 3),
	"Ti": power(1024, 4), "Pi": power(1024, 5), "Ei": power(1024, 6),
}

func power(base, exponent int64) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil))
}

// maxDigits bounds a quantity's text. The API server allows more digits, but nobody needs them.
const maxDigits = 32

func parseQuantity(text string) (int64, error) {
	match := quantityText.FindStringSubmatch(text)
	if match == nil || len(text) > maxDigits {
		return 0, fmt.Errorf("quantity %q cannot be read; write a number with a suffix such as Ki, Mi, Gi or G",
			shorten(text))
	}
	number, _ := new(big.Rat).SetString(strings.TrimSuffix(match[1], ".") + match[2])
	number.Mul(number, scales[match[3]])
	whole, rest := new(big.Int).DivMod(number.Num(), number.Denom(), new(big.Int))
	if rest.Sign() != 0 {
		whole.Add(whole, big.NewInt(1))
	}
	if whole.Sign() < 0 || !whole.IsInt64() {
		return 0, fmt.Errorf("quantity %q is out of range; allowed are 0 to %d", text, int64(math.MaxInt64))
	}
	return whole.Int64(), nil
}

// shorten bounds what an error repeats of its input.
func shorten(text string) string {
	const shown = 64
	if len(text) <= shown {
		return text
	}
	return strings.ToValidUTF8(text[:shown], "") + "..."
}
