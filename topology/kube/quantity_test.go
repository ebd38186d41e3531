package kube

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuantityValue(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "+2": 2, "1.": 1, ".5": 1, "1.5": 2, "250m": 1, "1001m": 2, "1u": 1, "1n": 1,
		"1k": 1000, "1M": 1e6, "2G": 2e9, "1T": 1e12, "1P": 1e15, "1E": 1e18, "1e3": 1000, "1E3": 1000, "12e-1": 2,
		"1Ki": 1024, "64Mi": 64 << 20, "15Gi": 15 << 30, "1.5Gi": 3 << 29, "1Ti": 1 << 40, "1Pi": 1 << 50, "7Ei": 7 << 60,
		"9223372036854775807": 1<<63 - 1,
	} {
		got, err := parseQuantity(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

func TestQuantityRefuses(t *testing.T) {
	const unreadable = "cannot be read; write a number with a suffix such as Ki, Mi, Gi or G"
	const range0 = "is out of range; allowed are 0 to 9223372036854775807"
	for text, want := range map[string]string{
		"":                      `quantity "" ` + unreadable,
		"15 Gi":                 `quantity "15 Gi" ` + unreadable,
		"15GB":                  `quantity "15GB" ` + unreadable,
		"1ki":                   `quantity "1ki" ` + unreadable,
		"1e3Gi":                 `quantity "1e3Gi" ` + unreadable,
		"0x10":                  `quantity "0x10" ` + unreadable,
		"1e999999999":           `quantity "1e999999999" ` + unreadable,
		strings.Repeat("9", 99): `quantity "` + strings.Repeat("9", 64) + `..." ` + unreadable,
		"-1":                    `quantity "-1" ` + range0,
		"8Ei":                   `quantity "8Ei" ` + range0,
		"1e99":                  `quantity "1e99" ` + range0,
	} {
		_, err := parseQuantity(text)
		require.EqualError(t, err, want)
	}
}

func TestQuantityIsAStringOrANumber(t *testing.T) {
	var list []quantity
	require.NoError(t, json.Unmarshal([]byte(`["8", 8, 1.5]`), &list))
	assert.Equal(t, []quantity{8, 8, 2}, list)
	require.EqualError(t, json.Unmarshal([]byte(`["x"]`), &list),
		`quantity "x" cannot be read; write a number with a suffix such as Ki, Mi, Gi or G`)
}
