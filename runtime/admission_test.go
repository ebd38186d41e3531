package runtime

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Every way in which an admission can be about something else than this rank as it runs. Rank 0 gets the altered one,
// and must not start; rank 1 gets the true one.
func TestAdmissionsThatAreNotBelieved(t *testing.T) {
	for name, test := range map[string]struct {
		alter func(p *v1.Progress)
		want  string
	}{
		"outcome in capitals":   {func(p *v1.Progress) { p.Admission.Outcome = "ALLOW" }, `outcome "ALLOW"`},
		"no outcome":            {func(p *v1.Progress) { p.Admission.Outcome = "" }, `outcome ""`},
		"outcome of a verdict":  {func(p *v1.Progress) { p.Admission.Outcome = v1.Unknown }, `outcome "unknown"`},
		"another attempt":       {func(p *v1.Progress) { p.Admission.Attempt++ }, "of attempt 2"},
		"another attempt's id":  {func(p *v1.Progress) { p.Admission.AttemptID = "attempt-9" }, "attempt-9"},
		"no rank":               {func(p *v1.Progress) { p.Admission.Rank = nil }, "does not list rank 0"},
		"another rank":          {func(p *v1.Progress) { p.Admission.Rank.Rank = 1 }, "Rank:1"},
		"another incarnation":   {func(p *v1.Progress) { p.Admission.Rank.Incarnation = "0" }, "Incarnation:0 "},
		"another configuration": {func(p *v1.Progress) { p.Admission.Rank.ConfigurationDigest = "sha256:0" }, "sha256:0 "},
		"another segment":       {func(p *v1.Progress) { p.Admission.Rank.SegmentSHA256 = "00" }, "SegmentSHA256:00}"},
		"no segment":            {func(p *v1.Progress) { p.Admission.Rank.SegmentSHA256 = "" }, "SegmentSHA256:}"},
		"with a code":           {func(p *v1.Progress) { p.Admission.Code = "probe" }, `in spite of "probe"`},
		"with a disagreement":   {func(p *v1.Progress) { p.Admission.Disagreement = true }, "in spite of"},
		"against the verdict":   {func(p *v1.Progress) { p.Verdict = &v1.Verdict{Outcome: v1.Deny} }, "the verdict denies"},
		"group not shared":      {func(p *v1.Progress) { p.Admission.Groups[0].Outcome = v1.NotShared }, `"not_shared"`},
		"group unknown":         {func(p *v1.Progress) { p.Admission.Groups[0].Outcome = v1.Unknown }, `"unknown"`},
		"group without outcome": {func(p *v1.Progress) { p.Admission.Groups[0].Outcome = "" }, "although group tp"},
		"facts against it":      {func(p *v1.Progress) { p.Admission.Groups[0].Facts = v1.NotShared }, `by facts "not_shared"`},
		"a member against it": {
			func(p *v1.Progress) { p.Admission.Groups[0].Members = []v1.ProbedMember{{Rank: 1}} }, "although group tp",
		},
		"group missing":           {func(p *v1.Progress) { p.Admission.Groups = nil }, "without group tp [0 1]"},
		"group of others":         {func(p *v1.Progress) { p.Admission.Groups[0].Ranks = []int64{1, 2} }, "without group tp [0 1]"},
		"group with more ranks":   {func(p *v1.Progress) { p.Admission.Groups[0].Ranks = []int64{0, 1, 2} }, "with group tp [0 1 2]"},
		"group in another order":  {func(p *v1.Progress) { p.Admission.Groups[0].Ranks = []int64{1, 0} }, "with group tp [1 0]"},
		"group of unknown kind":   {func(p *v1.Progress) { p.Admission.Groups[0].Kind = "xp" }, "with group xp"},
		"group this rank lacks":   {func(p *v1.Progress) { p.Admission.Groups[0].Kind = "pp" }, "that of rank 0 is []"},
		"progress of another one": {func(p *v1.Progress) { p.Attempt++; p.AttemptID = "attempt-2" }, "not of attempt 2"},
		"all of another one": {func(p *v1.Progress) {
			p.Attempt++
			p.AttemptID = "attempt-2"
			p.Admission.Attempt, p.Admission.AttemptID = p.Attempt, p.AttemptID
		}, "which rank 0 did not find"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				service := newFake(2)
				service.tamper = func(rank int64, p *v1.Progress) {
					if rank == 0 && p.Admission != nil {
						test.alter(p)
					}
				}
				ranks := pair(t, serve(t, service), shmDir(t))
				errs := registerAll(context.Background(), ranks)
				require.ErrorIs(t, errs[0], ErrAnswer)
				assert.ErrorContains(t, errs[0], test.want)
				assert.NoError(t, errs[1])
				ran(t, ranks[:1], 0)
				ran(t, ranks[1:], 1)
			})
		})
	}
}

// A rank that found no shared memory does not start, whatever the service makes of it.
func TestOwnAnswersOutweighTheAdmission(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		service.tamper = func(_ int64, p *v1.Progress) {
			if p.Admission != nil {
				p.Admission.Outcome, p.Admission.Code, p.Admission.Message = v1.Allow, "", ""
				p.Admission.Groups[0].Outcome = v1.Shared
			}
		}
		ranks := pair(t, serve(t, service), shmDir(t), shmDir(t))
		errs := registerAll(context.Background(), ranks)
		assert.ErrorContains(t, errs[1], "which rank 1 did not find")
		ran(t, ranks[1:], 0)
	})
}

// An admission of a large engine leaves groups out. Then only own answers speak for them.
func TestGroupsLeftOut(t *testing.T) {
	for name, here := range map[string]bool{"shared": true, "not shared": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				service := newFake(2)
				service.tamper = func(_ int64, p *v1.Progress) {
					if p.Admission != nil {
						p.Admission.Outcome, p.Admission.Code, p.Admission.Groups, p.Admission.MoreGroups = v1.Allow, "", nil, 1
					}
				}
				first := shmDir(t)
				second := first
				if !here {
					second = shmDir(t)
				}
				ranks := pair(t, serve(t, service), first, second)
				errs := registerAll(context.Background(), ranks)
				if here {
					require.NoError(t, errs[1])
					return
				}
				assert.ErrorContains(t, errs[1], "without group tp [0 1]")
				ran(t, ranks[1:], 0)
			})
		})
	}
}

// A reject is one, also where it is not bound to this rank.
func TestRejectsAreAlwaysBelieved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		service.tamper = func(_ int64, p *v1.Progress) {
			if p.Admission != nil {
				p.Admission = &v1.Admission{Outcome: v1.Reject, Attempt: 7, Code: "tiering.config"}
			}
		}
		ranks := pair(t, serve(t, service), shmDir(t))
		for _, err := range registerAll(context.Background(), ranks) {
			require.ErrorAs(t, err, new(*RejectedError))
			assert.Equal(t, "attempt 7 was rejected: tiering.config", err.Error())
		}
		ran(t, ranks, 0)
	})
}

// A rank that was stopped after it answered gets its admission when the others have long decided what to do without it.
func TestLateAdmission(t *testing.T) {
	bubble(t, func(t *testing.T) {
		shm := shmDir(t)
		ranks := pair(t, serve(t, newFake(2)), shm)
		ranks[0].lines.on = func(message string) {
			if message == "admission received" {
				entries, err := os.ReadDir(shm)
				assert.NoError(t, err)
				assert.Empty(t, entries, "nobody needs the segment any more")
				time.Sleep(2 * time.Minute)
			}
		}
		errs := registerAll(context.Background(), ranks)
		require.ErrorIs(t, errs[0], ErrLate)
		assert.True(t, strings.HasPrefix(errs[0].Error(), "late: rank 0 would go on 1m13s after its deadline"), errs[0].Error())
		assert.NoError(t, errs[1])
		ran(t, ranks[:1], 0)
	})
}
