package admission_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
)

func check(id, outcome, enforcement string, messages ...string) v1.CheckResult {
	c := v1.CheckResult{ID: id, Outcome: outcome, Enforcement: enforcement}
	for _, m := range messages {
		c.Violations = append(c.Violations, v1.Violation{Message: m, Fix: "mend it", Nodes: []string{"gpu-a"}})
	}
	return c
}

// What the checks say where nothing is probed, or all that is probed is shared.
func TestVerdicts(t *testing.T) {
	const local = "tiering.node_local"
	missing := func(c v1.CheckResult, facts ...string) v1.CheckResult {
		c.Missing = facts
		return c
	}
	nine := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}
	group := []v1.Group{{Kind: "tp", Ranks: []int64{0, 1}}}
	for _, test := range []struct {
		name          string
		outcome       string
		checks        []v1.CheckResult
		probe         []v1.Group
		code, message string
	}{
		{"nothing speaks against it", v1.Allow, []v1.CheckResult{check("site.a", v1.Pass, "deny")}, nil, "", ""},
		{
			"warnings", v1.Allow,
			[]v1.CheckResult{check("site.a", v1.Fail, "warn", "m"), check("site.b", v1.Unknown, "warn")},
			nil, "", "",
		},
		{"a dry run", v1.Allow, []v1.CheckResult{check("site.a", v1.Fail, "dryrun", "m")}, nil, "", ""},
		{"node_local is not in force", v1.Allow, []v1.CheckResult{check(local, v1.Fail, "warn", "m")}, nil, "", ""},
		{"node_local is not applicable", v1.Allow, []v1.CheckResult{check(local, v1.NotApplicable, "deny")}, nil, "", ""},
		{
			"the probe proves what facts leave open", v1.Unknown,
			[]v1.CheckResult{missing(check(local, v1.Unknown, "deny"), "boot_id")},
			group, "", "",
		},
		{
			"nothing proves what facts leave open", v1.Unknown,
			[]v1.CheckResult{missing(check(local, v1.Unknown, "deny"), "boot_id")},
			nil, local, admission.Spanning + ": engine e\n- tiering.node_local: cannot be judged without boot_id",
		},
		{
			"nothing proves what facts say", v1.Allow,
			[]v1.CheckResult{check(local, v1.Pass, "deny")},
			nil, local, admission.Spanning + ": engine e\n- tiering.node_local: not proved, because no group was probed",
		},
		{
			"another check is unknown", v1.Unknown,
			[]v1.CheckResult{missing(check("site.a", v1.Unknown, "deny"), nine...)},
			group,
			"site.a", "site.a: cannot be judged without a, b, c, d, e, f, g, h and 1 more fact",
		},
		{
			"an outcome that nobody knows", v1.Allow,
			[]v1.CheckResult{missing(check("site.a", "fine", "deny"), "x")},
			group, "site.a",
			"site.a: cannot be judged without x",
		},
		{
			"a check fails", v1.Deny,
			[]v1.CheckResult{check("site.a", v1.Fail, "deny", "node gpu-a is wrong")},
			group, "site.a",
			"site.a: node gpu-a is wrong; fix: mend it",
		},
		{
			"several checks fail", v1.Deny,
			[]v1.CheckResult{
				missing(check("site.a", v1.Unknown, "deny"), "x"), check("site.b", v1.Fail, "deny", "one", "two", "three", "four", "five"),
				check("site.c", v1.Fail, "warn", "not said"), check("site.d", v1.Fail, "deny", "six"),
			},
			group, "site.b", "site.b: one (on gpu-a); fix: mend it\n- site.b: two (on gpu-a); fix: mend it\n" +
				"- site.b: three (on gpu-a); fix: mend it (and 2 more of this check)\n- site.d: six (on gpu-a); fix: mend it\n" +
				"- site.a: cannot be judged without x",
		},
		{
			"ranks that disagree are not probed", v1.Deny,
			[]v1.CheckResult{check("consistency.config", v1.Fail, "deny", "they differ"), check(local, v1.Fail, "deny", "it spans")},
			nil,
			"consistency.config", "consistency.config: they differ (on gpu-a); fix: mend it\n" +
				"- tiering.node_local: it spans (on gpu-a); fix: mend it",
		},
		{"no reason", v1.Deny, nil, group, "verdict", "verdict: fails without saying why"},
		{
			"no reason of a check", v1.Deny,
			[]v1.CheckResult{check("site.a", v1.Fail, "deny")},
			nil, "site.a",
			"site.a: fails without saying why",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			reports := ranked(located("gpu-a", "boot-a", "0:27"), located("gpu-a", "boot-a", "0:27"))
			reports[0].Report.Segment = &v1.Segment{Name: "x", SHA256: nonceHash}
			shared := []v1.RankProbe{{Kind: "tp", Outcome: v1.Shared}}
			a := admission.Admit("e", &v1.Verdict{Outcome: test.outcome, Checks: test.checks, Probe: test.probe}, reports,
				map[int64][]v1.RankProbe{0: shared, 1: shared})
			assert.Equal(t, test.code, a.Code)
			assert.Equal(t, test.message, a.Message)
			assert.Equal(t, test.code == "", a.Outcome == v1.Allow)
		})
	}
}

// One worker proves itself.
func TestOneRankNeedsNoProof(t *testing.T) {
	verdict := &v1.Verdict{Outcome: v1.Allow, Checks: []v1.CheckResult{check("tiering.node_local", v1.Pass, "deny")}}
	assert.Equal(t, v1.Allow, admission.Admit("e", verdict, ranked(v1.NodeFacts{}), nil).Outcome)
}

func TestCore(t *testing.T) {
	rank0 := located("gpu-a", "boot-a", "0:27")
	withheld := v1.NodeFacts{
		Node: "gpu-a", BootID: "boot-a", Absent: []v1.AbsentFact{{Fact: "shm", Reason: "stat /dev/shm: no such file"}},
	}
	const remote = "tiering.core_local: secondary tiers read the shared memory of the engine core's node "
	const near = ", but rank 0 is on gpu-a (boot id boot-a, /dev/shm 0:27), which does not share it; start the engine core with rank " +
		"0's /dev/shm, or remove secondary_tiers"
	const unknown = "tiering.core_local: whether the engine core shares memory with rank 0 is unknown: "
	const hint = "; let it read /proc/sys/kernel/random/boot_id and stat /dev/shm"
	for _, test := range []struct {
		name        string
		rank0, core v1.NodeFacts
		message     string
	}{
		{"same mount", rank0, located("another name", "boot-a", "0:27"), ""},
		{
			"another host", rank0, located("head", "boot-h", "0:27"), remote + "head (boot id boot-h, /dev/shm 0:27)" + near,
		},
		{
			"another mount", rank0, located("gpu-a", "boot-a", "0:28"), remote + "gpu-a (boot id boot-a, /dev/shm 0:28)" + near,
		},
		{
			"the core could not tell", rank0, withheld, unknown + "the engine core on gpu-a has boot id boot-a, no /dev/shm device " +
				"(stat /dev/shm: no such file)" + hint,
		},
		{
			"rank 0 could not tell", located("gpu-a", "", "0:27"), rank0, unknown + "rank 0 on gpu-a has no boot id, /dev/shm 0:27" + hint,
		},
		{
			"equally unknown",
			v1.NodeFacts{},
			v1.NodeFacts{},
			unknown + "rank 0 on a node without a name has no boot id, no /dev/shm device" + hint,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := admission.Core(&test.rank0, &test.core)
			if test.message == "" {
				assert.Equal(t, v1.Allow, a.Outcome)
				assert.Equal(t, "another name", a.CoreNode)
				return
			}
			assert.Equal(t, v1.Reject, a.Outcome)
			assert.Equal(t, test.message, a.Message)
		})
	}
	assert.Equal(t, v1.Reject, admission.Core(nil, nil).Outcome, "facts that are gone are not equal")
}

func TestCoreInForce(t *testing.T) {
	for enforcement, want := range map[string]bool{v1.EnforceDeny: true, v1.EnforceWarn: false, v1.EnforceDryrun: false} {
		verdict := &v1.Verdict{Checks: []v1.CheckResult{check("tiering.core_local", v1.NotApplicable, enforcement)}}
		assert.Equal(t, want, admission.CoreInForce(verdict), enforcement)
	}
	assert.False(t, admission.CoreInForce(&v1.Verdict{}), "turned off")
}
