package runtime

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime/internal/probe"
)

// leaderSteps are what an operator reads of a leader that is admitted.
var leaderSteps = []string{
	"facts collected", "segment ready", "report sent", "verdict received", "segment opened", "answers sent", "admission received",
	"callback starts", "callback done",
}

func TestAdmitted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		n := serve(t, service)
		ranks := pair(t, n, shmDir(t))
		for _, err := range registerAll(context.Background(), ranks) {
			require.NoError(t, err)
		}
		ran(t, ranks, 1)
		assert.Equal(t, leaderSteps, ranks[0].lines.messages())
		assert.Equal(t, append([]string{leaderSteps[0]}, leaderSteps[2:]...), ranks[1].lines.messages(), "it leads no group")
		assert.EqualValues(t, 2, n.dialled.Load(), "one connection for each rank")
		assert.Empty(t, service.revocations())
		assert.NotContains(t, service.bodies("ranks/0"), service.nonce(0), "a nonce is told only by those who read it")
		assert.Contains(t, service.bodies("ranks/1/probe"), service.nonce(0))
		assert.NotContains(t, strings.Join(ranks[0].lines.texts(), "\n"), service.nonce(0))
	})
}

func TestRejectedByTheProbe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		ranks := pair(t, serve(t, service), shmDir(t), shmDir(t))
		for _, err := range registerAll(context.Background(), ranks) {
			var rejected *RejectedError
			require.ErrorAs(t, err, &rejected)
			assert.Equal(t, "rank 1 of tp [0 1]: not_shared; ", err.Error(), "the same text on all ranks")
			assert.Equal(t, v1.Unknown, rejected.Verdict.Outcome)
		}
		ran(t, ranks, 0)
		assert.Empty(t, service.revocations(), "an attempt that has ended needs no more")
		assert.Equal(t, "registration failed", last(ranks[1].lines.messages()))
	})
}

// grid has tensor- and pipeline-parallel groups of two: 0,1 / 2,3 and 0,2 / 1,3.
func grid(t *testing.T, n *network, shm ...string) []*rank {
	t.Helper()
	two := int64(2)
	ranks := make([]*rank, 4)
	for i := range ranks {
		m := tensorMember(0, 2)
		m.Rank, m.WorldSize = int64(i), 4
		m.Engine.Parallel = &v1.Parallel{Tensor: &two, Pipeline: &two}
		first, column := m.Rank/2*2, m.Rank%2
		m.Groups = map[string][]int64{"tp": {first, first + 1}, "pp": {column, column + 2}, "pcp": {m.Rank}, "dp": {m.Rank, m.Rank + 100}}
		ranks[i] = newRank(t, n, shm[i], m)
	}
	return ranks
}

// Rank 3 is on another node than the others: it opens all segments although the first fails, and so do those that fail
// nothing. Everybody gets the same answer, also rank 0, which saw nothing wrong.
func TestAllSegmentsAreOpened(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(4)
		here, there := shmDir(t), shmDir(t)
		ranks := grid(t, serve(t, service), here, here, here, there)
		errs := registerAll(context.Background(), ranks)
		for _, err := range errs {
			require.ErrorAs(t, err, new(*RejectedError))
			assert.Equal(t, errs[0].Error(), err.Error())
		}
		ran(t, ranks, 0)
		outcomes := map[int64]string{}
		for rank := range int64(4) {
			for _, a := range service.probes[rank].Answers {
				outcomes[rank] += a.Kind + " " + a.Outcome + ", "
			}
		}
		assert.Equal(t, map[int64]string{
			0: "tp shared, pp shared, ", 1: "tp shared, pp shared, ", 2: "tp shared, pp shared, ", 3: "tp not_shared, pp not_shared, ",
		}, outcomes)
		leads := map[int64]bool{}
		for rank, report := range service.reports {
			leads[rank] = report.Segment != nil
		}
		assert.Equal(t, map[int64]bool{0: true, 1: true, 2: true, 3: false}, leads)
	})
}

// A leader that cannot make its segment says so and goes on; nobody waits for it.
func TestSegmentFailed(t *testing.T) {
	plain := t.TempDir()
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		ranks := pair(t, serve(t, service), plain, shmDir(t))
		began := time.Now()
		for _, err := range registerAll(context.Background(), ranks) {
			require.ErrorAs(t, err, new(*RejectedError))
		}
		assert.Zero(t, time.Since(began))
		ran(t, ranks, 0)
		assert.Equal(t, probe.NotTmpfs, service.reports[0].Segment.Error.Errno)
		assert.Empty(t, service.reports[0].Segment.Name)
		assert.Equal(t, probe.NoSegment, service.probes[1].Answers[0].Error.Errno)
		assert.Equal(t, []string{
			"facts collected", "segment failed", "report sent", "verdict received", "segment opened", "answers sent",
			"admission received", "registration failed",
		}, ranks[0].lines.messages())
	})
}

// Without anything to probe the steps are the same, and the admission still has to come.
func TestNothingToProbe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		service.outcome, service.noProbe = v1.Allow, true
		ranks := pair(t, serve(t, service), shmDir(t), shmDir(t))
		for _, err := range registerAll(context.Background(), ranks) {
			require.NoError(t, err)
		}
		ran(t, ranks, 1)
		assert.Empty(t, service.probes[0].Answers)
	})
}

// A service may have the admission already when the report comes a second time, or when nothing is to be probed.
func TestAdmissionInsteadOfVerdict(t *testing.T) {
	for name, outcome := range map[string]string{"allowed": v1.Allow, "denied": v1.Deny} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				service := newFake(2)
				service.outcome, service.noProbe = outcome, true
				service.tamper = func(rank int64, p *v1.Progress) { p.Admission, p.RemainingMS = service.admit(rank), 0 }
				ranks := pair(t, serve(t, service), shmDir(t))
				for _, err := range registerAll(context.Background(), ranks) {
					if outcome == v1.Allow {
						require.NoError(t, err)
						continue
					}
					require.ErrorAs(t, err, new(*RejectedError))
					assert.Equal(t, "denied", err.Error())
				}
				assert.Len(t, service.log(), 2, "nothing was answered")
			})
		})
	}
}

// The segment is gone before the callback runs, whatever the callback does then.
func TestCallback(t *testing.T) {
	shm := shmDir(t)
	type key struct{}
	for name, test := range map[string]struct {
		callback func(context.Context) error
		check    func(t *testing.T, run func() error)
	}{
		"error": {
			func(context.Context) error { return errBoom },
			func(t *testing.T, run func() error) { assert.Equal(t, errBoom, run(), "as it is") },
		},
		"panic": {
			func(context.Context) error { panic("boom") },
			func(t *testing.T, run func() error) { assert.PanicsWithValue(t, "boom", func() { _ = run() }) },
		},
		"context": {
			func(ctx context.Context) error { assert.Equal(t, "value", ctx.Value(key{})); return nil },
			func(t *testing.T, run func() error) { assert.NoError(t, run()) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ranks := pair(t, serve(t, newFake(2)), shm)
				done := make(chan error)
				go func() { done <- ranks[1].register(context.Background()) }()
				test.check(t, func() error {
					ctx := context.WithValue(context.Background(), key{}, "value")
					return ranks[0].gate.RegisterKV(ctx, ranks[0].member, func(ctx context.Context) error {
						entries, err := os.ReadDir(shm)
						assert.NoError(t, err)
						assert.Empty(t, entries)
						return test.callback(ctx)
					})
				})
				require.NoError(t, <-done)
			})
		})
	}
}

// What a killed process left is swept by the next one, and nothing else is.
func TestSweepAtTheStart(t *testing.T) {
	shm := shmDir(t)
	stale := filepath.Join(shm, probe.Prefix+strings.Repeat("0", 32))
	region := filepath.Join(shm, "vllm_offload_a.mmap")
	require.NoError(t, os.WriteFile(stale, nil, 0o600))
	require.NoError(t, os.WriteFile(region, nil, 0o600))
	bubble(t, func(t *testing.T) {
		for _, err := range registerAll(context.Background(), pair(t, serve(t, newFake(2)), shm)) {
			require.NoError(t, err)
		}
	})
	assert.NoFileExists(t, stale)
	require.NoError(t, os.Remove(region))
}

func TestReport(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		ranks := pair(t, serve(t, service), shmDir(t))
		data := int64(2)
		for i, r := range ranks {
			r.gate.opts.Engine = "team/engine a"
			r.member.DataParallelRank = 1
			r.member.Engine.Parallel.Data = &data
			r.member.Engine.KVTransfer = json.RawMessage(`{"b": 1.0, "secondary_tiers": [ {"type":"<fs>"} ], "a": "é"}`)
			r.gate.opts.Deadline = time.Duration(90+i) * time.Second
		}
		for _, err := range registerAll(context.Background(), ranks) {
			require.NoError(t, err)
		}
		assert.Contains(t, service.log(), "PUT /v1/engines/team%2Fengine%20a.dp1/ranks/1")
		report := service.reports[1]
		assert.Equal(t, v1.Protocol, report.Protocol)
		assert.Regexp(t, `^[0-9a-f]{32}$`, report.Incarnation)
		assert.NotEqual(t, service.reports[0].Incarnation, report.Incarnation)
		assert.EqualValues(t, 2, report.WorldSize)
		assert.EqualValues(t, 1, report.DataParallelRank)
		assert.EqualValues(t, 91000, report.DeadlineMS)
		assert.Equal(t, map[string][]int64{"tp": {0, 1}}, report.Groups)
		assert.JSONEq(t, `{"a": "é", "b": 1.0, "secondary_tiers": [{"type": "<fs>"}]}`, string(report.Configuration.KVTransfer))
		assert.Equal(t, "0.33.0", report.Configuration.Version)
		assert.Nil(t, report.Segment)
	})
}

func ran(t *testing.T, ranks []*rank, times int64) {
	t.Helper()
	for _, r := range ranks {
		assert.Equal(t, times, r.ran.Load(), "the callback of rank %d", r.member.Rank)
	}
}

func last[E any](list []E) E { return list[len(list)-1] }
