package rendezvous

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// fixture is a service of two ranks in one memory domain over a store without faults.
type fixture struct {
	*testing.T
	sim     *simulation
	service *Service
	stop    func()
}

var engineE = Caller{Key: Key{Engine: "e"}, By: "token:fleet"}

func inBubble(t *testing.T, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim := &simulation{
			t: t, store: newSimStore(1), tensor: 2, pipeline: 1, world: 2, domains: []int{0, 0},
			nonces: map[string]string{}, proved: map[string]bool{},
		}
		f := &fixture{T: t, sim: sim}
		f.restart(Options{Solo: true})
		defer func() { f.stop() }()
		test(f)
	})
}

// restart runs another service on the same store.
func (f *fixture) restart(opts Options) {
	f.Helper()
	if f.stop != nil {
		f.stop()
	}
	opts.Journal = newSimJournal(f.sim.store)
	if opts.Decide == nil {
		opts.Decide = f.sim.decide
	}
	var err error
	f.service, err = New(opts)
	require.NoError(f, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- f.service.Run(ctx) }()
	f.stop = func() {
		cancel()
		assert.NoError(f, <-done)
	}
	synctest.Wait()
	require.True(f, f.service.Ready())
}

// said is what one call came to.
type said struct {
	p   *v1.Progress
	err error
}

// report has a rank report in the background.
func (f *fixture) report(rank int, incarnation string, wait time.Duration) <-chan said {
	r := f.sim.report(rank, incarnation)
	out := make(chan said, 1)
	go func() {
		p, err := f.service.Report(f.Context(), engineE, int64(rank), r, wait)
		out <- said{p, err}
	}()
	synctest.Wait()
	return out
}

// answer has a rank answer truthfully what it was told to open.
func (f *fixture) answer(rank int, incarnation string, p *v1.Progress, wait time.Duration) said {
	answer, err := f.service.Probe(f.Context(), engineE, p.Attempt, int64(rank), f.sim.probe(rank, incarnation, p, nil), wait)
	return said{answer, err}
}

func (f *fixture) ended(err error) v1.AttemptEnd {
	f.Helper()
	var ended *EndedError
	require.ErrorAs(f, err, &ended)
	return ended.End
}

func (f *fixture) code(err error) string {
	f.Helper()
	var known *Error
	require.ErrorAs(f, err, &known)
	return known.Code
}

func incarnation(digit string) string {
	id := ""
	for range incarnationDigits {
		id += digit
	}
	return id
}

var one, two, three = incarnation("1"), incarnation("2"), incarnation("3")

// admitted brings both ranks through.
func (f *fixture) admitted() *v1.Progress {
	f.Helper()
	first, second := f.report(0, one, time.Minute), f.report(1, two, time.Minute)
	a, b := <-first, <-second
	require.NoError(f, a.err)
	require.NoError(f, b.err)
	partial := f.answer(0, one, a.p, 0)
	require.NoError(f, partial.err)
	require.Nil(f, partial.p.Admission)
	assert.Equal(f, []int64{1}, partial.p.Missing)
	last := f.answer(1, two, b.p, time.Minute)
	require.NoError(f, last.err)
	require.NotNil(f, last.p.Admission)
	require.Equal(f, v1.Allow, last.p.Admission.Outcome)
	return last.p
}

func TestAdmission(t *testing.T) {
	inBubble(t, func(f *fixture) {
		p := f.admitted()
		assert.EqualValues(f, 1, p.Attempt)
		assert.Equal(f, two, p.Admission.Rank.Incarnation)
		// A repeat of either call gets the same.
		again := <-f.report(0, one, 0)
		require.NoError(f, again.err)
		assert.Equal(f, p.AttemptID, again.p.Admission.AttemptID)
		assert.Equal(f, one, again.p.Admission.Rank.Incarnation)
		// A stranger does not, whatever it answers.
		stranger := f.answer(0, three, again.p, 0)
		assert.Equal(f, v1.EndAdmission, f.ended(stranger.err).Kind)
	})
}

func TestNobodyWaitsBeyondAPhase(t *testing.T) {
	inBubble(t, func(f *fixture) {
		start := time.Now()
		early := <-f.report(0, one, 0)
		require.NoError(f, early.err)
		assert.Equal(f, []int64{1}, early.p.Missing)
		assert.Equal(f, v1.PhaseReport, early.p.Phase)
		end := f.ended((<-f.report(0, one, time.Minute)).err)
		assert.Equal(f, v1.EndTimedOut, end.Kind)
		assert.Equal(f, []int64{1}, end.Ranks)
		assert.Equal(f, "attempt 1 of engine e timed out after 15s: no report from rank 1 of 2; reported: rank 0 on node-0; "+
			"see whether these workers started, whether they reach this service and use the same engine id, then start the whole "+
			"engine again", end.Message)
		assert.Equal(f, 15*time.Second, time.Since(start))
	})
}

func TestNobodyWaitsForAnAnswerBeyondAPhase(t *testing.T) {
	inBubble(t, func(f *fixture) {
		first, second := f.report(0, one, time.Minute), f.report(1, two, time.Minute)
		got := <-first
		<-second
		end := f.ended(f.answer(0, one, got.p, time.Minute).err)
		assert.Equal(f, v1.EndTimedOut, end.Kind)
		assert.Equal(f, []int64{1}, end.Ranks)
		assert.Equal(f, "attempt 1 of engine e timed out after 5s: rank 1 reported but did not answer the probe: rank 1 on node-0; "+
			"see the log of these workers, then start the whole engine again", end.Message)
	})
}

func TestRevocation(t *testing.T) {
	inBubble(t, func(f *fixture) {
		waiting := f.report(0, one, time.Minute)
		_, err := f.service.Revoke(f.Context(), engineE, 1, v1.Revocation{AttemptID: "another"})
		assert.Equal(f, v1.CodeAttemptGone, f.code(err))
		end, err := f.service.Revoke(f.Context(), engineE, 1, v1.Revocation{Reason: "node gpu-a is being drained"})
		require.NoError(f, err)
		assert.Equal(f, *end, f.ended((<-waiting).err))
		assert.Equal(f, "attempt 1 of engine e was revoked: node gpu-a is being drained", end.Message)
		_, err = f.service.Revoke(f.Context(), engineE, 1, v1.Revocation{})
		assert.Equal(f, v1.EndRevoked, f.ended(err).Kind)
	})
}

// Neither a name nor an incarnation, which whoever reads can see, lets another identity into an attempt.
func TestAttemptIsBoundToTheIdentityThatOpenedIt(t *testing.T) {
	inBubble(t, func(f *fixture) {
		waiting := f.report(0, one, time.Minute)
		view, err := f.service.Attempt(engineE.Key, 1)
		require.NoError(f, err)
		assert.Equal(f, "token:fleet", view.OpenedBy)
		foreign := Caller{Key: engineE.Key, By: "token:other"}
		const refused = "attempt 1 of engine e was opened by token:fleet, and token:other asks; all ranks of an engine use one " +
			"identity: give these workers the same credentials, or another engine id"
		for name, call := range map[string]func() error{
			"its rank": func() error {
				_, err := f.service.Report(f.Context(), foreign, 0, f.sim.report(0, one), 0)
				return err
			},
			"another rank": func() error {
				_, err := f.service.Report(f.Context(), foreign, 1, f.sim.report(1, two), 0)
				return err
			},
			"a rival": func() error {
				_, err := f.service.Report(f.Context(), foreign, 0, f.sim.report(0, three), 0)
				return err
			},
			"a probe": func() error {
				_, err := f.service.Probe(f.Context(), foreign, 1, 0, &v1.Probe{AttemptID: view.AttemptID, Incarnation: one}, 0)
				return err
			},
			"a core": func() error {
				_, err := f.service.Core(f.Context(), foreign, 1, &v1.CoreReport{AttemptID: view.AttemptID, Incarnation: three}, 0)
				return err
			},
			"a revocation": func() error {
				_, err := f.service.Revoke(f.Context(), foreign, 1, v1.Revocation{})
				return err
			},
		} {
			err := call()
			assert.EqualError(f, err, refused, name)
			assert.Equal(f, v1.CodeForbidden, f.code(err), name)
		}
		end, err := f.service.Revoke(f.Context(), Caller{Key: engineE.Key}, 1, v1.Revocation{})
		require.NoError(f, err, "who may revoke whatever a tenant has is bound to nothing")
		assert.Equal(f, *end, f.ended((<-waiting).err))
	})
}

func TestDuplicateRank(t *testing.T) {
	for name, solo := range map[string]bool{"one process": true, "several": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.restart(Options{Solo: solo})
				waiting := f.report(0, one, time.Minute)
				end := f.ended((<-f.report(0, two, time.Minute)).err)
				assert.Equal(f, v1.EndDuplicate, end.Kind)
				assert.Equal(f, []int64{0}, end.Ranks)
				assert.Equal(f, end, f.ended((<-waiting).err))
			})
		})
	}
}

// TestSuperseded: the successor of a dead incarnation ends the attempt and goes on in the next.
func TestSuperseded(t *testing.T) {
	for name, solo := range map[string]bool{"one process": true, "several": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.restart(Options{Solo: solo})
				dead := <-f.report(0, one, 0)
				require.NoError(f, dead.err)
				peer := f.report(1, three, time.Minute)
				require.NoError(f, (<-peer).err, "both reported, so that there is a verdict")
				time.Sleep(lingering)
				next := <-f.report(0, two, 5*time.Second)
				require.NoError(f, next.err)
				assert.EqualValues(f, 2, next.p.Attempt)
				assert.Equal(f, []int64{1}, next.p.Missing)
				assert.Equal(f, v1.EndSuperseded, f.ended(f.answer(1, three, dead.p, 0).err).Kind)
			})
		})
	}
}

// TestRestart: a service that comes back folds what there is, and goes on with it.
func TestRestart(t *testing.T) {
	inBubble(t, func(f *fixture) {
		first := <-f.report(0, one, 0)
		require.NoError(f, first.err)
		time.Sleep(10 * time.Second)
		f.restart(Options{})
		view, err := f.service.Attempt(engineE.Key, 1)
		require.NoError(f, err)
		assert.Equal(f, []int64{1}, view.Missing)
		assert.Equal(f, int64(5000), view.RemainingMS, "what passed before counts")
		got := <-f.report(0, one, time.Minute)
		assert.Equal(f, v1.EndTimedOut, f.ended(got.err).Kind)
		f.restart(Options{})
		view, err = f.service.Attempt(engineE.Key, 1)
		require.NoError(f, err)
		assert.Equal(f, v1.EndTimedOut, view.End.Kind)
		assert.Len(f, view.Ranks, 1)
	})
}

func TestForgotten(t *testing.T) {
	inBubble(t, func(f *fixture) {
		p := f.admitted()
		time.Sleep(DefaultKeep)
		_, err := f.service.Attempt(engineE.Key, 1)
		require.NoError(f, err, "kept, though no longer decoded")
		time.Sleep(simDeadline + time.Second)
		_, err = f.service.Engine(engineE.Key)
		assert.Equal(f, v1.CodeUnknownEngine, f.code(err))
		assert.Equal(f, v1.CodeAttemptGone, f.code(f.answer(0, one, p, 0).err))
		assert.Empty(f, f.service.Engines("").Engines)
		assert.Empty(f, f.service.awaited)
	})
}

func TestCore(t *testing.T) {
	inBubble(t, func(f *fixture) {
		core := &v1.CoreReport{Protocol: v1.Protocol, Incarnation: three}
		waiting := <-f.report(0, one, 0)
		require.NoError(f, waiting.err)
		core.AttemptID = waiting.p.AttemptID
		got, err := f.service.Core(f.Context(), engineE, 1, core, time.Second)
		require.NoError(f, err)
		assert.Nil(f, got, "the workers are not through")
		f.admitted()
		core.Facts = v1.NodeFacts{BootID: "another", Shm: &v1.ShmFacts{Device: "0:27"}}
		got, err = f.service.Core(f.Context(), engineE, 1, core, 0)
		require.NoError(f, err)
		assert.Equal(f, v1.Reject, got.Outcome, "rank 0 has told no boot id")
		view, err := f.service.Attempt(engineE.Key, 1)
		require.NoError(f, err)
		assert.Equal(f, got, view.Core)
	})
}

// TestCoreThatIsFree: a site may not care where the core is.
func TestCoreThatIsFree(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.sim.coreFree = true
		p := f.admitted()
		got, err := f.service.Core(f.Context(), engineE, 1, &v1.CoreReport{AttemptID: p.AttemptID, Incarnation: three}, 0)
		require.NoError(f, err)
		assert.Equal(f, v1.Allow, got.Outcome)
	})
}

// TestTold: a rank is told its own groups and what speaks against the engine, not everything.
func TestTold(t *testing.T) {
	full := &v1.Admission{Outcome: v1.Reject}
	for i := range int64(40) {
		outcome := v1.Shared
		if i%2 == 1 {
			outcome = v1.NotShared
		}
		full.Groups = append(full.Groups, v1.ProbedGroup{Kind: "tp", Ranks: []int64{2 * i, 2*i + 1}, Outcome: outcome})
	}
	told := toldAdmission(full, 8)
	assert.Len(t, told.Groups, 1+toldGroups)
	assert.EqualValues(t, 40-17, told.MoreGroups)
	assert.Equal(t, []int64{8, 9}, told.Groups[2].Ranks, "its own, though it is shared")
	assert.Len(t, full.Groups, 40)
	verdict := &v1.Verdict{Checks: []v1.CheckResult{{Violations: make([]v1.Violation, 20)}}, Probe: []v1.Group{{Kind: "tp"}}}
	assert.EqualValues(t, 4, toldVerdict(verdict).Checks[0].MoreViolations)
	assert.Len(t, verdict.Checks[0].Violations, 20)
}

// TestWorldsDiffer: a verdict comes as soon as the smallest world is complete.
func TestWorldsDiffer(t *testing.T) {
	inBubble(t, func(f *fixture) {
		big := f.sim.report(0, one)
		big.WorldSize = 8
		first := make(chan said, 1)
		go func() {
			p, err := f.service.Report(f.Context(), engineE, 0, big, time.Minute)
			first <- said{p, err}
		}()
		synctest.Wait()
		second := <-f.report(1, two, time.Second)
		require.NoError(f, second.err)
		assert.NotNil(f, second.p.Verdict)
		assert.NotNil(f, (<-first).p.Verdict)
	})
}

// TestNoVerdict: what a policy cannot judge is rejected for all ranks with one message.
func TestNoVerdict(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.restart(Options{Solo: true, Decide: func(context.Context, Key, *v1.Launch) ([]byte, error) {
			return nil, errors.New("rule data.site.x: division by zero")
		}})
		first, second := f.report(0, one, time.Minute), f.report(1, two, time.Minute)
		for _, got := range []said{<-first, <-second} {
			require.NoError(f, got.err)
			require.NotNil(f, got.p.Admission)
			assert.Equal(f, v1.Reject, got.p.Admission.Outcome)
			assert.Equal(f, "internal: no verdict on engine e: rule data.site.x: division by zero", got.p.Admission.Message)
		}
	})
}

// slowPolicy did not answer in time.
type slowPolicy struct{ error }

func (slowPolicy) ProblemCode() string { return v1.CodeEvaluationDeadline }

// TestSlowPolicy: that a busy machine gave no verdict in time is not held against an engine at once.
func TestSlowPolicy(t *testing.T) {
	inBubble(t, func(f *fixture) {
		tries := 0
		f.restart(Options{Solo: true, Decide: func(ctx context.Context, key Key, l *v1.Launch) ([]byte, error) {
			if tries++; tries < deadlineTries {
				return nil, slowPolicy{context.DeadlineExceeded}
			}
			return f.sim.decide(ctx, key, l)
		}})
		f.admitted()
		assert.Equal(f, deadlineTries, tries)
	})
}

func TestChanged(t *testing.T) {
	inBubble(t, func(f *fixture) {
		one, all, other := f.service.Changed(engineE.Key), f.service.Changed(Key{}), f.service.Changed(Key{Engine: "x"})
		<-f.report(0, three, 0)
		<-one
		<-all
		select {
		case <-other:
			t.Error("another engine did not change")
		default:
		}
	})
}

// TestUnreadableRecords do not stop the fold.
func TestUnreadableRecords(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for _, name := range []string{"x", "=.ZQ.1.spec", "=.ZQ.9.ab.report.0", "=.ZQ.0.spec", "=.!.1.spec"} {
			require.NoError(f, f.sim.store.create(name, []byte("{"), time.Minute))
		}
		synctest.Wait()
		got := <-f.report(0, one, 2*time.Second)
		assert.Error(f, got.err, "the first attempt's name is taken by something else")
	})
}

// put writes a record past the service, as another process would.
func (f *fixture) put(a *v1.Progress, kind string, rank int64, record any) {
	f.Helper()
	k := recordKey{Key: engineE.Key, attempt: a.Attempt, id: a.AttemptID, kind: kind, rank: rank}
	require.NoError(f, f.sim.store.create(k.String(), encode(record), time.Minute))
	synctest.Wait()
}

// TestStrangersAnswer: answers count only from the incarnation that reported, whichever way they come.
func TestStrangersAnswer(t *testing.T) {
	inBubble(t, func(f *fixture) {
		first, second := f.report(0, one, time.Minute), f.report(1, two, time.Minute)
		p := (<-first).p
		<-second
		assert.Equal(f, v1.CodeInvalidReport, f.code(f.answer(1, three, p, 0).err))
		f.put(p, recordAnswers, 7, answersRecord{[]answer{{0, three, []v1.RankProbe{{Kind: "tp", Outcome: v1.Shared}}}}})
		view, err := f.service.Attempt(engineE.Key, 1)
		require.NoError(f, err)
		assert.Equal(f, []int64{0, 1}, view.Unanswered)
	})
}

// TestRecordsOfAnotherLife: what an attempt of the same number left behind, or one that is opened behind the last, is nothing.
func TestRecordsOfAnotherLife(t *testing.T) {
	inBubble(t, func(f *fixture) {
		p := (<-f.report(0, one, 0)).p
		f.put(&v1.Progress{Attempt: 1, AttemptID: two}, recordEnd, -1, endRecord{AttemptEnd: v1.AttemptEnd{Kind: v1.EndRevoked}})
		view, err := f.service.Attempt(engineE.Key, 1)
		require.NoError(f, err)
		assert.Nil(f, view.End)
		f.put(&v1.Progress{Attempt: 3, AttemptID: two}, recordSpec, -1, specRecord{ID: two, World: 2, ReportMS: 1000})
		f.put(&v1.Progress{Attempt: 2, AttemptID: three}, recordSpec, -1, specRecord{ID: three, World: 2, ReportMS: 1000})
		list := f.service.Engines("").Engines
		require.Len(f, list, 1)
		assert.Equal(f, two, list[0].AttemptID)
		assert.NotEqual(f, two, p.AttemptID)
	})
}

func TestCheckReport(t *testing.T) {
	good := func() *v1.Report {
		return &v1.Report{Incarnation: one, WorldSize: 2, DeadlineMS: 60000}
	}
	assert.NoError(t, checkReport(1, good()))
	for want, mend := range map[string]func(*v1.Report) int64{
		"world_size is 0, allowed are 1 to 8192":    func(r *v1.Report) int64 { r.WorldSize = 0; return 0 },
		"world_size is 8193, allowed are 1 to 8192": func(r *v1.Report) int64 { r.WorldSize = 8193; return 0 },
		"rank 2 is not in a world of 2: ranks are those within the replica, 0 to world_size-1; with data parallelism, not the global ones": func(*v1.Report) int64 { return 2 },
		"data_parallel_rank is -1, allowed is 0 or more":                                 func(r *v1.Report) int64 { r.DataParallelRank = -1; return 0 },
		"deadline_ms is 999, allowed are 1000 to 3600000":                                func(r *v1.Report) int64 { r.DeadlineMS = 999; return 0 },
		`incarnation is "AB", allowed are 32 hex digits in lower case`:                   func(r *v1.Report) int64 { r.Incarnation = "AB"; return 0 },
		"group tp has 3 ranks in a world of 2":                                           func(r *v1.Report) int64 { r.Groups = map[string][]int64{"tp": {0, 1, 2}}; return 0 },
		`segment name is "../x", allowed are file names that begin with tiergate-probe-`: func(r *v1.Report) int64 { r.Segment = &v1.Segment{Name: "../x"}; return 0 },
		`segment name is "tiergate-probe-/x", allowed are file names that begin with tiergate-probe-`: func(r *v1.Report) int64 {
			r.Segment = &v1.Segment{Name: "tiergate-probe-/x"}
			return 0
		},
		`sha256 is "ab", allowed are 64 hex digits in lower case`: func(r *v1.Report) int64 {
			r.Segment = &v1.Segment{Name: "tiergate-probe-x", SHA256: "ab"}
			return 0
		},
		"a segment has a name and a hash, or an error, not both": func(r *v1.Report) int64 {
			r.Segment = &v1.Segment{Name: "tiergate-probe-x", Error: &v1.LocalFail{}}
			return 0
		},
	} {
		r := good()
		assert.EqualError(t, checkReport(mend(r), r), want)
	}
}

func TestPhases(t *testing.T) {
	for deadline, want := range map[time.Duration][2]time.Duration{
		time.Minute:      {45 * time.Second, 15 * time.Second},
		10 * time.Second: {5 * time.Second, 5 * time.Second},
		2 * time.Second:  {time.Second, 5 * time.Second},
	} {
		report, probe := phases(deadline)
		assert.Equal(t, want, [2]time.Duration{report, probe}, deadline)
	}
}

func TestRecordKeys(t *testing.T) {
	for _, k := range []recordKey{
		{Key: Key{Engine: "a/b.c d"}, attempt: 12, id: one, kind: recordReport, rank: 3},
		{Key: Key{Tenant: "t*>", Engine: "é"}, attempt: 1, id: two, kind: recordEnd, rank: -1},
		{Key: Key{Engine: "e"}, attempt: 7, kind: recordSpec, rank: -1},
	} {
		assert.Regexp(t, `^[A-Za-z0-9_=.-]+$`, k.String())
		got, ok := parseKey(k.String())
		assert.True(t, ok)
		assert.Equal(t, k, got)
	}
}
