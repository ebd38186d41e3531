package webhook

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestCut(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"short enough here", "short enough here"},
		{"twenty characters is", "twenty characters is"},
		{"one word more than twenty", "one word more..."},
		{"a,  list;\n of\tlines\x00!", "a, list; of lines !"},
		{"punctuation: goes, away here", "punctuation..."},
		{"averylongwordwithoutspaces", "averylongwordwith..."},
		{"üüüü üüüü üüüü üüüü üüüü", "üüüü üüüü üüüü..."},
		{"", ""},
	} {
		assert.Equal(t, test.want, cut(test.text, 20))
	}
}

// However a text is cut, it is one line of that many characters at most, and begins as the text does.
func TestCutIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, most := rapid.String().Draw(t, "text"), rapid.IntRange(10, 130).Draw(t, "most")
		got := cut(text, most)
		assert.LessOrEqual(t, utf8.RuneCountInString(got), most)
		assert.NotContains(t, got, "\n")
		whole := cut(text, 1<<20)
		assert.True(t, strings.HasPrefix(whole, strings.TrimSuffix(got, "...")), "%q of %q", got, whole)
	})
}

func decoded(t *testing.T, a *Answer) response {
	t.Helper()
	var r reply
	require.NoError(t, json.Unmarshal(a.JSON(), &r))
	return r.Response
}

// Every kind of check has its words; what passes, does not apply, or is not known to a check that only warns has none.
func TestWarnings(t *testing.T) {
	a := &Answer{Outcome: v1.Allow, review: &Review{}}
	two := []v1.Violation{{Message: "first"}, {Message: "second"}}
	a.warn(&v1.Verdict{Checks: []v1.CheckResult{
		{ID: "a.pass", Outcome: v1.Pass, Enforcement: v1.EnforceDeny},
		{ID: "a.warn", Outcome: v1.Fail, Enforcement: v1.EnforceWarn, Violations: two[:1]},
		{ID: "a.twice", Outcome: v1.Fail, Enforcement: v1.EnforceWarn, Violations: two},
		{ID: "a.tried", Outcome: v1.Fail, Enforcement: v1.EnforceDryrun, Violations: two},
		{ID: "a.waived", Outcome: v1.Fail, Enforcement: v1.EnforceWarn, Violations: two[:1], Waiver: &v1.Waiver{Owner: "x"}},
		{ID: "a.later", Outcome: v1.Unknown, Enforcement: v1.EnforceDeny, Missing: []string{"workers", "core"}},
		{ID: "a.never", Outcome: v1.Unknown, Enforcement: v1.EnforceWarn, Missing: []string{"workers"}},
		{ID: "a.none", Outcome: v1.NotApplicable, Enforcement: v1.EnforceWarn},
		{ID: "a.deny", Outcome: v1.Fail, Enforcement: v1.EnforceDeny, Violations: two},
	}})
	a.tolerate([]finding{{check: "b.x", message: "m"}, {check: "b.y", message: "n"}, {check: "b.x", message: "o"}}, notNew)
	assert.Equal(t, []string{
		"a.warn: first", "a.twice (2 times): first", "a.tried (dry run, 2 times): first", "a.waived (waived): first",
		"a.later: decided at KV registration; not known yet: workers; core", "b.x (not new, 2 times): m", "b.y (not new): n",
	}, decoded(t, a).Warnings)
}

func TestWarningsAreBounded(t *testing.T) {
	a := &Answer{Outcome: v1.Allow, review: &Review{}}
	for i := range maxWarnings + 3 {
		a.add(fmt.Sprintf("a.b%d: %s", i, strings.Repeat("word ", 100)))
	}
	warnings := decoded(t, a).Warnings
	require.Len(t, warnings, maxWarnings)
	assert.Equal(t, "tiergate: 4 more warnings; the decision log has all", warnings[maxWarnings-1])
	for _, warning := range warnings {
		assert.LessOrEqual(t, len(warning), maxWarning)
	}
}

// A denial names each check with what was seen and what to change; what is not listed is counted.
func TestTheMessageOfADenial(t *testing.T) {
	a := &Answer{Outcome: v1.Allow, review: &Review{Name: "n", Group: "g", Kind: "K"}, id: "d-1"}
	for i := range 20 {
		a.deny("K/n, container a", []finding{{"a.b", fmt.Sprintf("seen %d", i), "do this"}})
	}
	a.headlines = a.headlines[:1]
	a.deny("K/n, container b", []finding{{"c.d", "broken\nline", ""}})
	r := decoded(t, a)
	assert.Equal(t, `K/n, container a, K/n, container b: the engine would not be admitted as it is launched
a.b: seen 0; seen 1; and 18 more; to fix it: do this
c.d: broken line
(decision d-1)`, r.Status.Message)
	assert.Len(t, r.Status.Details.Causes, maxCauses)
	assert.Equal(t, cause{"a.b", "seen 0; to fix it: do this"}, r.Status.Details.Causes[0])
}

// A verdict that denies without a reason denies.
func TestDenialsAreNeverEmpty(t *testing.T) {
	assert.Equal(t, []finding{{check: "verdict", message: "it denies without a check that fails"}}, denials(&v1.Verdict{Outcome: v1.Deny}))
	assert.Equal(t, []finding{{check: "a.b", message: "it fails without a reason"}}, denials(&v1.Verdict{
		Outcome: v1.Deny, Checks: []v1.CheckResult{{ID: "a.b", Outcome: v1.Fail, Enforcement: v1.EnforceDeny}},
	}))
}
