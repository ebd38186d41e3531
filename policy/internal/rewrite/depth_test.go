package rewrite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestDepth: parsing functions are told from texts that are nested more than five deep.
func TestDepth(t *testing.T) {
	for text, deep := range map[string]bool{
		"":                       false,
		"[[[[[":                  false,
		"[[[[[[":                 true,
		"{{{{{{":                 true,
		"[{[{[{":                 true,
		"[[[[[]]]]]":             false,
		"[[[[]][[[]]]]":          false,
		"[[[[]][[[[]]]]]":        true,
		"]]]]]][[[[[[[[[[[":      false,
		`"[[[[[["`:               true, // a string, which is rather refused than understood
		strings.Repeat("[]", 99): false,
		"zzzzzz;;;;;;":           false,
	} {
		for function, answer := range map[string]uint64{unmarshalFunction: 7, isValidFunction: 8} {
			_, r := rewritten(t, runtimeStrings)
			r.hash(tagStringInterned, []byte(text))
			assert.Equal(t, []uint64{answer}, r.call(function, stringAt), "its own body follows")
			if deep {
				assert.Contains(t, r.aborts, int32(TooDeep), text)
			} else {
				assert.Empty(t, r.aborts, text)
			}
		}
	}
	_, r := rewritten(t, runtimeStrings)
	r.hash(6, []byte("[[[[[[["))
	r.call(unmarshalFunction, stringAt)
	assert.Empty(t, r.aborts, "not a string")
	r.hash(tagString, []byte("0123456789"))
	assert.Equal(t, 11, r.spent(unmarshalFunction, stringAt), "each byte is a step")
}
