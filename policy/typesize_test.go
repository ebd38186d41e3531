package policy

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTypesThatDouble: forty doublings in each form that a rule's value can take are refused long before a deadline.
func TestTypesThatDouble(t *testing.T) {
	for name, step := range map[string]string{
		"object":        `w%d := {"a": w%[2]d, "b": w%[2]d}`,
		"array":         `w%d := [w%[2]d, w%[2]d]`,
		"set":           `w%d := {{"a": w%[2]d}, {"b": w%[2]d}}`,
		"comprehension": `w%d := [{"a": x, "b": x} | x := w%[2]d]`,
		"body":          "w%d := y if {\n\tx := w%[2]d\n\ty := [x, x]\n}",
		"function":      `w%d(_) := [w%[2]d(1), w%[2]d(1)]`,
		"partial":       `w%d contains x if x := {"a": w%[2]d, "b": w%[2]d}`,
		"union":         "w%d := {\"a\": w%[2]d} if input.now\n\nw%[1]d := {\"b\": w%[2]d} if not input.now",
		"else":          `w%d := {"a": w%[2]d} if { input.now } else := {"b": w%[2]d}`,
		"default":       "default w%d := 0\n\nw%[1]d := {\"a\": w%[2]d, \"b\": w%[2]d} if input.now",
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString("package acme\n\n" + map[bool]string{true: "w0(_) := 1\n", false: "w0 := 1\n"}[name == "function"])
			for i := 1; i <= 40; i++ {
				fmt.Fprintf(&b, "\n"+step+"\n", i, i-1)
			}
			assert.ErrorContains(t, load(t, b.String()), "because of the chain acme.w")
		})
	}
}

// TestTypesThatDoNotDouble: rules that pass values on, however often, are not refused.
func TestTypesThatDoNotDouble(t *testing.T) {
	for name, step := range map[string]string{
		"passed on in two ways": "w%d := w%[2]d if input.now\n\nw%[1]d := w%[2]d if not input.now",
		"only looked at":        `w%d := [1] if { count(w%[2]d) == count(w%[2]d) }`,
		"held once":             `w%d := {"a": w%[2]d, "b": count(w%[2]d)}`,
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString("package acme\n\nw0 := [1]\n")
			for i := 1; i <= 40; i++ {
				fmt.Fprintf(&b, "\n"+step+"\n", i, i-1)
			}
			assert.NoError(t, load(t, b.String()))
		})
	}
}

// load type-checks one library, and ends the test where that does not end.
func load(t *testing.T, library string) error {
	t.Helper()
	src, err := read(site(map[string]string{"lib.rego": library}), nil, "")
	require.NoError(t, err)
	p, _, err := prepare(src)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- p.typeCheck(nil) }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		require.Fail(t, "the type check does not end")
		return nil
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	src, err := read(nil, nil, "")
	require.NoError(t, err)
	p, _, err := prepare(src)
	require.NoError(t, err)
	_, err = p.checkedWasm(ctx, p.exports())
	assert.ErrorIs(t, err, context.Canceled)
}
