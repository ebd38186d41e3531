package policy

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology/document"
)

// twoNodes is a TP=2 engine with a filesystem tier, its ranks on the given nodes.
func twoNodes(t testing.TB, nodes ...string) *v1.Launch {
	t.Helper()
	text := `{"engine": {"id": "engine-a", "parallel": {"tensor": 2}, "executor": "external_launcher", "kv_transfer": {
		"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {
		"spec_name": "TieringOffloadingSpec", "cpu_bytes_to_use": 4096, "secondary_tiers": [{"type": "fs", "root_dir": "/kv"}]}}},
		"nodes": [{"id": "gpu-a", "boot_id": "b-a", "shm": {"device": "0:27"}},
		          {"id": "gpu-b", "boot_id": "b-b", "shm": {"device": "0:27"}}],
		"workers": [{"rank": 0, "node": "` + nodes[0] + `"}, {"rank": 1, "node": "` + nodes[1] + `"}],
		"core": {"node": "` + nodes[0] + `"}}`
	launch, err := document.Launch([]byte(text), "application/json")
	require.NoError(t, err)
	return launch
}

func site(files map[string]string) []Source {
	fs := fstest.MapFS{}
	for name, text := range files {
		fs[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return []Source{{Name: "site", FS: fs}}
}

const metadata = "# METADATA\n# title: Site check\n# custom:\n#   enforcement: deny\n"

// siteCheck is a check of the site's own with the given violations body.
func siteCheck(name, rules string) string {
	return metadata + "package tiergate.checks.site." + name + "\n\n" + rules + "\n"
}

const quiet = "\nunknown contains \"never\" if input.stage == \"never\"\n"

func decide(t testing.TB, e *Engine, launch *v1.Launch) v1.Verdict {
	t.Helper()
	d, err := e.Decide(t.Context(), launch)
	require.NoError(t, err)
	var v v1.Verdict
	require.NoError(t, json.Unmarshal(d.JSON, &v), string(d.JSON))
	assert.Equal(t, d.Outcome, v.Outcome)
	assert.Equal(t, d.Digest, v.Digest)
	return v
}

func result(t testing.TB, v v1.Verdict, id string) v1.CheckResult {
	t.Helper()
	for _, c := range v.Checks {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("verdict has no check %s", id)
	return v1.CheckResult{}
}

func TestDecideNamesTheSpanningGroup(t *testing.T) {
	e := newEngine(t, Options{})
	v := decide(t, e, twoNodes(t, "gpu-a", "gpu-b"))
	assert.Equal(t, v1.Deny, v.Outcome)
	c := result(t, v, "tiering.node_local")
	assert.Equal(t, v1.Fail, c.Outcome)
	require.Len(t, c.Violations, 1)
	assert.Equal(t, &v1.Group{Kind: "tp", Ranks: []int64{0, 1}}, c.Violations[0].Group)
	assert.Equal(t, []string{"gpu-a", "gpu-b"}, c.Violations[0].Nodes)
	assert.Equal(t, []v1.Group{{Kind: "tp", Ranks: []int64{0, 1}}}, v.Probe, "the groups are probed also when the facts deny")
}

func TestDecideAllowsOneNode(t *testing.T) {
	e := newEngine(t, Options{})
	v := decide(t, e, twoNodes(t, "gpu-b", "gpu-b"))
	assert.Equal(t, v1.Allow, v.Outcome)
	assert.Equal(t, v1.Pass, result(t, v, "tiering.node_local").Outcome)
	assert.NotEmpty(t, v.Probe)
}

func TestEqualDigestsMeanEqualVerdicts(t *testing.T) {
	clock := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	e := newEngine(t, Options{Now: func() time.Time { return clock }})
	first := decide(t, e, twoNodes(t, "gpu-a", "gpu-b"))
	clock = clock.Add(59 * time.Second)
	assert.Equal(t, first, decide(t, e, twoNodes(t, "gpu-a", "gpu-b")), "time is truncated to the minute")
	clock = clock.Add(time.Second)
	assert.NotEqual(t, first.Digest, decide(t, e, twoNodes(t, "gpu-a", "gpu-b")).Digest)
	other := newEngine(t, Options{Now: func() time.Time { return clock }, Data: []byte(`{"site": 1}`)})
	assert.NotEqual(t, first.Digest, decide(t, other, twoNodes(t, "gpu-a", "gpu-b")).Digest, "data is part of the digest")
}

func TestSettings(t *testing.T) {
	waiver := func(extra string) string {
		return `{settings: {waivers: [{check: tiering.node_local, owner: ada, reason: test, ` + extra + `}]}}`
	}
	now := func() time.Time { return time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC) }
	for name, tc := range map[string]struct {
		data, enforcement string
		outcome           string
		waived, probed    bool
	}{
		"none":                   {`{}`, v1.EnforceDeny, v1.Deny, false, true},
		"warn":                   {`{settings: {enforcement: {tiering.node_local: warn}}}`, v1.EnforceWarn, v1.Allow, false, false},
		"dry run":                {`{settings: {enforcement: {tiering.node_local: dryrun}}}`, v1.EnforceDryrun, v1.Allow, false, false},
		"waiver":                 {waiver(`engine: engine-a, expires: 2026-12-02, accept_corruption: true`), v1.EnforceWarn, v1.Allow, true, false},
		"waiver by prefix":       {waiver(`engine: "eng*", expires: 2026-12-02, accept_corruption: true`), v1.EnforceWarn, v1.Allow, true, false},
		"other engine":           {waiver(`engine: engine-b, expires: 2026-12-02, accept_corruption: true`), v1.EnforceDeny, v1.Deny, false, true},
		"expired":                {waiver(`engine: "*", expires: 2026-12-01, accept_corruption: true`), v1.EnforceDeny, v1.Deny, false, true},
		"expires with the hour":  {waiver(`engine: "*", expires: "2026-12-01T04:01:00+01:00", accept_corruption: true`), v1.EnforceWarn, v1.Allow, true, false},
		"unreadable expiry":      {waiver(`engine: "*", expires: soon, accept_corruption: true`), v1.EnforceDeny, v1.Deny, false, true},
		"no expiry":              {waiver(`engine: "*", accept_corruption: true`), v1.EnforceDeny, v1.Deny, false, true},
		"corruption not named":   {waiver(`engine: "*", expires: 2026-12-02`), v1.EnforceDeny, v1.Deny, false, true},
		"pattern in the middle":  {waiver(`engine: "e*a", expires: 2026-12-02, accept_corruption: true`), v1.EnforceDeny, v1.Deny, false, true},
		"waiver without a check": {`{settings: {enforcement: {offload.waste: deny}}}`, v1.EnforceDeny, v1.Deny, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, Options{Data: []byte(tc.data), Now: now})
			v := decide(t, e, twoNodes(t, "gpu-a", "gpu-b"))
			c := result(t, v, "tiering.node_local")
			assert.Equal(t, tc.outcome, v.Outcome)
			assert.Equal(t, v1.Fail, c.Outcome, "a waiver does not make a check pass")
			assert.Equal(t, tc.enforcement, c.Enforcement)
			assert.Equal(t, tc.waived, c.Waiver != nil)
			assert.Equal(t, tc.probed, len(v.Probe) > 0)
		})
	}
}

func TestDisabledCheckIsListed(t *testing.T) {
	e := newEngine(t, Options{Data: []byte(`{settings: {disabled: [{id: tiering.node_local, owner: ada, reason: lab}]}}`)})
	v := decide(t, e, twoNodes(t, "gpu-a", "gpu-b"))
	assert.Equal(t, v1.Allow, v.Outcome)
	assert.Equal(t, []v1.Disabled{{ID: "tiering.node_local", Owner: "ada", Reason: "lab"}}, v.Disabled)
	assert.Empty(t, v.Probe, "what is not in force is not probed")
}

func TestSiteCheck(t *testing.T) {
	e := newEngine(t, Options{Sources: site(map[string]string{
		"tp.rego": siteCheck("tp", `default applies := true

violations contains {"message": $"TP={input.engine.parallel.tensor} is more than {data.limits.tensor}", "fix": "use fewer"} if {
	input.engine.parallel.tensor > data.limits.tensor
}
`+quiet),
		"limits/data.yaml": "tensor: 1",
		"lib.rego":         "package acme.report\n\n# METADATA\n# entrypoint: true\nsize := input.engine.parallel.tensor",
	})})
	v := decide(t, e, twoNodes(t, "gpu-a", "gpu-a"))
	assert.Equal(t, v1.Deny, v.Outcome)
	assert.Equal(t, "TP=2 is more than 1", result(t, v, "site.tp").Violations[0].Message)

	out, err := e.Query(t.Context(), "acme/report/size", twoNodes(t, "gpu-a", "gpu-a"))
	require.NoError(t, err)
	assert.JSONEq(t, "2", string(out))
	_, err = e.Query(t.Context(), "acme/report/none", twoNodes(t, "gpu-a", "gpu-a"))
	require.ErrorIs(t, err, ErrNoEntrypoint)
	assert.Contains(t, err.Error(), "acme/report/size")
}

// TestNoAnswer holds policies that load and then give no proper answer: always an error with its place, never an allow.
func TestNoAnswer(t *testing.T) {
	rule := func(body string) string {
		return "default applies := true\n\nviolations contains " + body + "\n" + quiet
	}
	for name, tc := range map[string]struct {
		rules, want string
		is          error
	}{
		"applies undefined": {
			"applies := false if input.stage == \"never\"\n\nviolations contains {\"message\": \"m\"} if false\n" + quiet,
			"check site.bad gives no proper result", ErrUndefined,
		},
		"applies ill-typed": {
			"default applies := true\n\napplies := input.now if input.now\n\nviolations contains {\"message\": \"m\"} if false\n" + quiet,
			"check site.bad gives no proper result", ErrUndefined,
		},
		"message ill-typed": {rule(`{"message": input.engine.parallel.tensor}`), "check site.bad gives no proper result", ErrUndefined},
		"message missing":   {rule(`v if v := {"text": "m"}`), "check site.bad gives no proper result", ErrUndefined},
		"nodes ill-typed":   {rule(`{"message": "m", "nodes": "gpu-a"}`), "check site.bad gives no proper result", ErrUndefined},
		"group ill-typed":   {rule(`{"message": "m", "group": [0, 1]}`), "check site.bad gives no proper result", ErrUndefined},
		"fix ill-typed":     {rule(`{"message": "m", "fix": ["a"]}`), "check site.bad gives no proper result", ErrUndefined},
		"not an object":     {rule(`v if v := "m"`), "check site.bad gives no proper result", ErrUndefined},
		"division by zero": {
			rule(`{"message": "m"} if 1 / (input.engine.parallel.tensor - 2) > 5`),
			"builtin function failed in data.tiergate.checks.site.bad.violations: arith_divide refused its arguments", ErrBuiltin,
		},
		"host builtin": {
			rule(`{"message": "m"} if units.parse(input.engine.executor) > 5`), "builtin function failed", ErrBuiltin,
		},
		"conflict": {
			"default applies := true\n\napplies := false if input.engine.parallel.tensor == 2\n\napplies := true if input.stage == \"launch\"\n\n" +
				"violations contains {\"message\": \"m\"} if false\n" + quiet,
			"conflict", ErrConflict,
		},
		"endless": {
			rule(`{"message": "m"} if {
	some a in numbers.range(1, 4000)
	some b in numbers.range(1, 4000)
	some c in numbers.range(1, 4000)
	a * b * c == 7
}`), "deadline", ErrDeadline,
		},
		"memory bomb": {rule(`{"message": "m"} if count(numbers.range(1, 2000000000)) < 5`), "memory", ErrMemory},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := 10 * time.Second
			if tc.is == ErrDeadline {
				timeout = 50 * time.Millisecond
			}
			e := newEngine(t, Options{Sources: site(map[string]string{"bad.rego": siteCheck("bad", tc.rules)})})
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			_, err := e.Decide(ctx, twoNodes(t, "gpu-a", "gpu-a"))
			require.ErrorIs(t, err, tc.is)
			assert.Contains(t, err.Error(), tc.want)
			var failed *Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, CodeEvaluation, failed.Code)
			assert.Equal(t, "site/bad.rego", failed.File, err)
			assert.Positive(t, failed.Row)
		})
	}
}

// TestSwapUnderLoad changes between two revisions while others decide: no answer fails, and none mixes revisions.
func TestSwapUnderLoad(t *testing.T) {
	strict := site(map[string]string{"s.rego": siteCheck("s", "default applies := true\n\nviolations contains {\"message\": \"m\"} if true\n"+quiet)})
	e := newEngine(t, Options{})
	lenient := decide(t, e, twoNodes(t, "gpu-a", "gpu-a"))
	require.Equal(t, v1.Allow, lenient.Outcome)

	done := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				d, err := e.Decide(t.Context(), twoNodes(t, "gpu-a", "gpu-a"))
				if !assert.NoError(t, err) {
					return
				}
				assert.Equal(t, d.Revision == lenient.Revision, d.Outcome == v1.Allow)
				assert.Equal(t, d.Outcome == v1.Deny, strings.Contains(string(d.JSON), `"site.s"`))
			}
		})
	}
	for range 5 {
		require.NoError(t, e.Swap(t.Context(), strict, nil))
		require.NoError(t, e.Swap(t.Context(), nil, nil))
	}
	close(done)
	group.Wait()
	assert.Equal(t, lenient.Revision, decide(t, e, twoNodes(t, "gpu-a", "gpu-a")).Revision, "equal sources are one revision")
}

func TestClosedEngine(t *testing.T) {
	e, err := New(t.Context(), Options{})
	require.NoError(t, err)
	require.NoError(t, e.Close(t.Context()))
	_, err = e.Decide(t.Context(), twoNodes(t, "gpu-a", "gpu-a"))
	require.ErrorIs(t, err, ErrClosed)
}

func TestBadOptions(t *testing.T) {
	_, err := New(t.Context(), Options{MaxPages: 1, Budget: -1, Instances: -1})
	require.EqualError(t, err, "policy options: max pages is 1, allowed are 16 to 65536\n"+
		"budget is -1, allowed is a positive number of steps\ninstances is -1, allowed is 0 or more")
}

// TestMissingNeeds: a need that the facts lack gives what the check declares, never a pass; false is a fact.
func TestMissingNeeds(t *testing.T) {
	check := func(missing, need string) string {
		return strings.Replace(siteCheck("needy", "default applies := true\n\nviolations contains {\"message\": \"m\"} if false\n"+quiet),
			"enforcement: deny\n", "enforcement: deny\n#   missing: "+missing+"\n#   needs: [input.engine.executor_given, "+need+"]\n", 1)
	}
	for _, tc := range []struct {
		missing, need, outcome string
		facts                  []string
	}{
		{v1.Unknown, "input.configurations", v1.Unknown, []string{"configurations"}},
		{v1.NotApplicable, "input.engine.parallel.data_local", v1.NotApplicable, []string{"engine.parallel.data_local"}},
		{v1.Unknown, "input.engine.headless", v1.Pass, nil},
		{v1.Unknown, "input.workers", v1.Pass, nil},
	} {
		t.Run(tc.need, func(t *testing.T) {
			e := newEngine(t, Options{Sources: site(map[string]string{"needy.rego": check(tc.missing, tc.need)})})
			v := decide(t, e, twoNodes(t, "gpu-a", "gpu-a"))
			c := result(t, v, "site.needy")
			assert.Equal(t, tc.outcome, c.Outcome)
			assert.Equal(t, tc.facts, c.Missing)
			assert.Equal(t, tc.outcome == v1.Unknown, v.Outcome == v1.Unknown)
		})
	}
}

func TestShippedTestsHoldInBothEngines(t *testing.T) {
	results, err := Test(t.Context(), nil, TestOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, results)
	for _, r := range results {
		assert.Equal(t, TestPass, r.Outcome, "%s: %s", r.Name, r.Detail)
	}
}

// TestEverySizeOfPolicyLoads turns each check off in turn: where OPA's data segments end, and with them the memory that a
// module needs from the start, depends on how much policy there is.
func TestEverySizeOfPolicyLoads(t *testing.T) {
	info, err := newEngine(t, Options{}).Info()
	require.NoError(t, err)
	for _, c := range info.Checks {
		newEngine(t, Options{Data: []byte(`{settings: {disabled: [{id: ` + c.ID + `, owner: ada, reason: test}]}}`)})
	}
}
