package host

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestErrorTexts(t *testing.T) {
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{&Error{Kind: ErrStack}, "evaluation nested too deeply"},
		{&Error{Kind: ErrBudget, Detail: "more than 5 steps"}, "evaluation used up its budget of steps: more than 5 steps"},
		{
			&Error{Kind: ErrConflict, File: "a.rego", Row: 7, Rule: "data.p.q", Detail: "var assignment conflict"},
			"a.rego:7: evaluation gave conflicting values in data.p.q: var assignment conflict",
		},
	} {
		assert.EqualError(t, c.err, c.want)
		assert.ErrorIs(t, c.err, c.err.Kind)
	}
}

func TestAbortMessages(t *testing.T) {
	const assignment, insert = "var assignment conflict", "object insert conflict"
	for message, want := range map[string]Error{
		"a/b.rego:12:3: " + assignment:        {Kind: ErrConflict, File: "a/b.rego", Row: 12, Detail: assignment},
		"conflict.rego:1:1: " + insert:        {Kind: ErrConflict, File: "conflict.rego", Row: 1, Detail: insert},
		"conflict.rego:1:1: other":            {Kind: ErrTrap, File: "conflict.rego", Row: 1, Detail: "other"},
		"file:///x/y.rego:4:9: " + assignment: {Kind: ErrConflict, File: "file:///x/y.rego", Row: 4, Detail: assignment},
		"opa_malloc: failed":                  {Kind: ErrMemory, Detail: "opa_malloc: failed"},
		"illegal value":                       {Kind: ErrTrap, Detail: "illegal value"},
		"opa_number_to_bf: invalid number":    {Kind: ErrTrap, Detail: "opa_number_to_bf: invalid number"},
		"":                                    {Kind: ErrTrap},
	} {
		assert.Equal(t, want, *abortError(message), message)
	}
}

func TestDeadlineCauses(t *testing.T) {
	cause := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	assert.ErrorIs(t, deadline(ctx), cause)
	assert.ErrorIs(t, deadline(ctx), ErrDeadline)
	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	assert.ErrorIs(t, deadline(late), context.DeadlineExceeded)
	assert.ErrorIs(t, deadline(t.Context()), context.DeadlineExceeded, "the clock may be ahead of the context's timer")
}

// TestAttribution: an error names the rule that was running, also from inside of functions and comprehensions.
func TestAttribution(t *testing.T) {
	sources := []string{`package a.b

q := data.a.c.f(input.n)
each := [x | some n in [1, 0]; x := data.a.c.f(n)]
`, `package a.c

f(n) := 1 / n

host(x) := urlquery.encode(x)

twice[x] := y if {
	some x in [1, 1]
	some y in [1, 2]
}

some_rule := host(input.n)
`}
	in := loadModule(t, roomy, "{}", []string{"a/b/q", "a/b/each", "a/c/some_rule", "a/c/twice"}, sources...)
	for entrypoint, want := range map[string]Error{
		"a/b/q":    {Kind: ErrBuiltin, Rule: "data.a.c.f", Detail: "arith_divide refused its arguments"},
		"a/b/each": {Kind: ErrBuiltin, Rule: "data.a.c.f", Detail: "arith_divide refused its arguments"},
		"a/c/some_rule": {
			Kind: ErrBuiltin, Rule: "data.a.c.host",
			Detail: "urlquery.encode: eval_type_error: urlquery.encode: operand 1 must be string but got number",
		},
		"a/c/twice": {
			Kind: ErrConflict, Rule: "data.a.c.twice", File: "m1.rego", Row: 7, Detail: "object insert conflict",
		},
	} {
		t.Run(entrypoint, func(t *testing.T) {
			id, _ := in.Entrypoint(entrypoint)
			one, err := in.Instantiate(t.Context())
			require.NoError(t, err)
			_, _, err = one.Eval(t.Context(), id, []byte(`{"n":0}`), nil)
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, want, *e)
		})
	}
}

// TestTraces: what wazero returns carries the module's stack, of which it shows the innermost functions.
func TestTraces(t *testing.T) {
	const trace = "wasm stack trace:\n\t.opa_value_compare(i32,i32) i32\n"
	for text, want := range map[string]Error{
		"wasm error: stack overflow\n" + trace + "\t... maybe followed by omitted frames": {Kind: ErrStack},
		"wasm error: unreachable\n" + trace + "\t.g0.data.a.b(i32,i32) i32\n\t.g0.data.c(i32) i32\n\t.eval(i32) i32": {
			Kind: ErrTrap, Detail: "wasm error: unreachable", Rule: "data.a.b",
		},
		"wasm error: out of bounds memory access": {Kind: ErrTrap, Detail: "wasm error: out of bounds memory access"},
	} {
		assert.Equal(t, want, *failed(errors.New(text)))
	}
	known := &Error{Kind: ErrBuiltin, Rule: "data.x"}
	assert.Equal(t, *known, *failed(fmt.Errorf("%w (recovered by wazero)\n%s\t.g0.data.y(i32) i32", abort{known}, trace)))
}
