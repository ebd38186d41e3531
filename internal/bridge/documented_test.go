package bridge

import (
	"context"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDocumented: docs/library.md has every member of a request, answer and failure, every action and every code.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/library.md")
	require.NoError(t, err)
	for _, of := range []any{Request{}, Answer{}, Failure{}} {
		shape := reflect.TypeOf(of)
		for i := range shape.NumField() {
			member, _, _ := strings.Cut(shape.Field(i).Tag.Get("json"), ",")
			assert.Contains(t, string(page), "`"+member+"`", "%s.%s", shape.Name(), shape.Field(i).Name)
		}
	}
	source, err := os.ReadFile("failure.go")
	require.NoError(t, err)
	codes := regexp.MustCompile(`(?m)^\tCode\w+\s*= "(\w+)"`).FindAllSubmatch(source, -1)
	require.NotEmpty(t, codes)
	for _, code := range codes {
		assert.Contains(t, string(page), "| `"+string(code[1])+"` |")
	}
	unknown := do(t, t.Context(), `{"action": ""}`)
	_, list, _ := strings.Cut(unknown.Error.Message, "allowed are ")
	actions := strings.FieldsFunc(strings.ReplaceAll(list, " and ", ","), func(r rune) bool { return r == ',' || r == ' ' })
	require.Len(t, actions, 5)
	for _, action := range actions {
		assert.Contains(t, string(page), "| `"+action+"` |")
	}
}

// TestCancelledBefore: no request is carried out once its call was cancelled.
func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, action := range []string{"admit", "admit_core", "needs_gate", "environment", "facts"} {
		assert.Equal(t, CodeCancelled, do(t, ctx, `{"action": "`+action+`"}`).Error.Code, action)
	}
}
