package policy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTestSaysWhatFails(t *testing.T) {
	results, err := Test(t.Context(), site(map[string]string{
		"lib.rego": "package acme.lib\n\ndouble(x) := x * 2\n\nratio(x) := 1 / x\n",
		"lib_test.rego": `package acme.lib_test

import data.acme.lib

test_holds if lib.double(2) == 4

test_fails if {
	lib.double(1) == 2
	lib.double(2) == 5
}

test_cases[name] if {
	some name, tc in {"one": {"in": 1, "want": 2}, "two": {"in": 2, "want": 5}}
	lib.double(tc.in) == tc.want
}

test_builtin_error if not lib.ratio(0)

todo_test_later if lib.double(1) == 3
`,
	}), TestOptions{})
	require.NoError(t, err)
	got := map[string][2]string{}
	for _, r := range results {
		assert.Equal(t, "site/lib_test.rego", r.File)
		assert.Positive(t, r.Row)
		assert.False(t, r.Differs, r.Detail)
		got[r.Name] = [2]string{r.Outcome, r.Detail}
	}
	assert.Equal(t, map[string][2]string{
		"data.acme.lib_test.test_holds":         {TestPass, ""},
		"data.acme.lib_test.test_fails":         {TestFail, "line 9 does not hold: lib.double(2) == 5"},
		"data.acme.lib_test.test_cases":         {TestFail, "cases that do not hold: two"},
		"data.acme.lib_test.test_builtin_error": {TestError, "site/lib.rego:5: eval_builtin_error: div: divide by zero"},
		"data.acme.lib_test.todo_test_later":    {TestSkip, ""},
	}, got)
}

func TestNoTests(t *testing.T) {
	results, err := Test(t.Context(), site(map[string]string{"lib.rego": "package acme.lib\n\na := 1\n"}), TestOptions{})
	require.NoError(t, err)
	assert.Empty(t, results)
}
