package host

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/policy/internal/regotest"
)

// lend loads Rego on a host whose json.patch, which takes and gives anything, is fn.
func lend(t *testing.T, fn topdown.BuiltinFunc, rule string) *Instance {
	t.Helper()
	wasm := regotest.Compile(t, []string{"p/q"}, "package p\n"+rule)
	lent := Builtins{Lookup: func(string) topdown.BuiltinFunc { return fn }}
	m, err := newHost(t).Load(t.Context(), wasm, []byte("{}"), lent, roomy)
	require.NoError(t, err)
	in, err := m.Instantiate(t.Context())
	require.NoError(t, err)
	return in
}

// TestBuiltinArguments passes values through a host function, which must see them and give them back as they are.
func TestBuiltinArguments(t *testing.T) {
	values := []string{
		`null`, `true`, `false`, `0`, `-7`, `2147483648`, `123456789012345678901234567890`, `1.5`, `1e3`, `""`,
		`"é\n\"😀"`, `[]`, `[1, [2, [3]]]`, `{}`, `{"a": {"b": [null]}}`, `set()`, `{1, "x", [2]}`, `{{1}, {2, 3}}`,
		`{1: "a", [2]: {3}, null: true}`,
	}
	var seen []ast.Value
	in := lend(t, func(_ topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		seen = append(seen, operands[0].Value)
		return iter(operands[0])
	}, "values := ["+strings.Join(values, ", ")+`]
q := [r | some v in values; w := json.patch(v, []); r := {"same": v == w, "type": type_name(w), "value": w}]`)
	out, _, err := in.Eval(t.Context(), 0, nil, nil)
	require.NoError(t, err)
	want := make([]string, len(values))
	for i, value := range values {
		v := ast.MustParseTerm(value).Value
		assert.Zero(t, v.Compare(seen[i]), "%v was read as %v", v, seen[i])
		want[i] = `{"same":true,"type":"` + ast.ValueName(v) + `","value":` + canonicalJSON(v) + `}`
	}
	assert.Equal(t, "["+strings.Join(want, ",")+"]", string(out))
}

func TestBuiltinOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		fn   topdown.BuiltinFunc
		want string
		err  string
		kind error
	}{
		"no value": {
			fn:   func(topdown.BuiltinContext, []*ast.Term, func(*ast.Term) error) error { return nil },
			want: `"undefined"`,
		},
		"error": {
			fn:   func(topdown.BuiltinContext, []*ast.Term, func(*ast.Term) error) error { return context.Canceled },
			err:  "builtin function failed in data.p.q: json.patch: context canceled",
			kind: ErrBuiltin,
		},
		"panic": {
			fn:   func(topdown.BuiltinContext, []*ast.Term, func(*ast.Term) error) error { panic("no such luck") },
			err:  "evaluation trapped in data.p.q: no such luck (recovered by wazero)",
			kind: ErrTrap,
		},
		"deep": {
			fn: func(_ topdown.BuiltinContext, _ []*ast.Term, iter func(*ast.Term) error) error {
				v := ast.InternedEmptyArray
				for range maxDepth + 1 {
					v = ast.ArrayTerm(v)
				}
				return iter(v)
			},
			err:  "evaluation nested too deeply in data.p.q: json.patch: the result is nested deeper than 1000",
			kind: ErrStack,
		},
		"context": {
			fn: func(bctx topdown.BuiltinContext, _ []*ast.Term, iter func(*ast.Term) error) error {
				return iter(ast.StringTerm(bctx.Context.Value(contextKey{}).(string)))
			},
			want: `"from the caller"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := lend(t, c.fn, "q := v if v := json.patch({}, [])\nelse := \"undefined\"")
			out, _, err := in.Eval(context.WithValue(t.Context(), contextKey{}, "from the caller"), 0, nil, nil)
			if c.err == "" {
				require.NoError(t, err)
				assert.Equal(t, c.want, string(out))
				return
			}
			require.EqualError(t, err, c.err)
			assert.ErrorIs(t, err, c.kind)
		})
	}
}

type contextKey struct{}

// TestSilentListIsComplete reads the sources of OPA's runtime: each of its builtins that can return no value must be
// known here as failing or as one that may rightly have none. A new version of OPA may add some.
func TestSilentListIsComplete(t *testing.T) {
	// min and max of nothing are undefined; all and any are not in Rego v1, the matches are not native to the
	// compiler, and every value has a type.
	rightly := strings.Fields("opa_agg_min opa_agg_max opa_agg_all opa_agg_any opa_strings_any_prefix_match " +
		"opa_strings_any_suffix_match opa_types_name")
	sources, err := filepath.Glob(filepath.Join(opaModule(t), "wasm/src/*.c*"))
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	builtin := regexp.MustCompile(`^opa_value \*(\w+)\(`)
	noValue := regexp.MustCompile(`return\b[^;=]*\bNULL\b`)
	unseen := map[string]bool{}
	for name := range silent {
		unseen[name] = true
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		for _, part := range strings.Split(string(text), "OPA_BUILTIN\n")[1:] {
			name := builtin.FindStringSubmatch(part)[1]
			delete(unseen, name)
			body, _, _ := strings.Cut(part, "\n}")
			if noValue.MatchString(body) && !silent[name] {
				assert.Contains(t, rightly, name)
			}
		}
	}
	assert.Empty(t, unseen, "builtins that the runtime does not have")
}
