package runtime

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// However an attempt ends, in whichever phase, all its ranks get that end and none starts.
func TestEnds(t *testing.T) {
	for kind, sentinel := range map[string]error{
		v1.EndTimedOut: ErrTimedOut, v1.EndSuperseded: ErrSuperseded, v1.EndDuplicate: ErrDuplicateRank, v1.EndRevoked: ErrRevoked,
		v1.EndAdmission: ErrLate, "something newer": ErrAnswer,
	} {
		for phase, message := range map[string]string{"report": "report sent", "probe": "answers sent"} {
			t.Run(kind+" in "+phase, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					service := newFake(2)
					end := v1.AttemptEnd{Kind: kind, Ranks: []int64{1}, Message: "rank 1 did it"}
					ranks := pair(t, serve(t, service), shmDir(t))
					if phase == "report" {
						ranks = ranks[:1]
					} else {
						service.intercept = func(_ http.ResponseWriter, r *http.Request) bool {
							if hangs := r.URL.Path == "/v1/engines/engine-a/attempts/1/ranks/1/probe"; hangs {
								service.finish(end)
							}
							return false
						}
					}
					ranks[0].lines.on = func(m string) {
						if phase == "report" && m == message {
							go func() {
								synctest.Wait()
								service.finish(end)
							}()
						}
					}
					for _, err := range registerAll(context.Background(), ranks) {
						require.ErrorIs(t, err, sentinel)
						var ended *EndedError
						require.ErrorAs(t, err, &ended)
						assert.Equal(t, []int64{1}, ended.End.Ranks)
						assert.Equal(t, "rank 1 did it", err.Error())
					}
					ran(t, ranks, 0)
					assert.Empty(t, service.revocations())
				})
			})
		}
	}
	assert.Equal(t, "attempt 3 ended: timed_out, ranks [1 2]",
		(&EndedError{v1.AttemptEnd{Attempt: 3, Kind: v1.EndTimedOut, Ranks: []int64{1, 2}}}).Error())
}

// The service ends the attempt; the rank waits just long enough for it to do so.
func TestMissingRank(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		ranks := pair(t, serve(t, service), shmDir(t))[:1]
		began := time.Now()
		err := ranks[0].register(context.Background())
		require.ErrorIs(t, err, ErrTimedOut)
		assert.Equal(t, "ranks [1] are missing", err.Error())
		assert.Equal(t, service.phase, time.Since(began))
		assert.Len(t, service.log(), 3, "a short poll, a long one and the rest: %v", service.log())
	})
}

// Somebody else opened the attempt with a longer deadline: the rank keeps its own, names who is missing and tells the
// others.
func TestOwnDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		service.phase = time.Hour
		ranks := pair(t, serve(t, service), shmDir(t))[:1]
		began := time.Now()
		err := ranks[0].register(context.Background())
		require.ErrorIs(t, err, ErrTimedOut)
		var ended *EndedError
		require.ErrorAs(t, err, &ended)
		assert.Equal(t, []int64{1}, ended.End.Ranks)
		assert.Equal(t, "rank 0 waited 1m0s, as long as it could: attempt 1 was waiting for ranks 1", err.Error())
		assert.Equal(t, time.Minute, time.Since(began))
		assert.Equal(t, []v1.Revocation{{AttemptID: "attempt-1", Reason: "rank 0 gave up: " + err.Error()}}, service.revocations())
	})
}

// A rank that was stopped before it reported, or before it answered, does not go on when it runs again.
func TestStopped(t *testing.T) {
	for step, want := range map[string]string{
		"segment ready":  "timed out: this process's own deadline is over",
		"segment opened": "rank 0 waited 2m0s, as long as it could: attempt 1 was waiting for the verdict or the admission",
	} {
		t.Run(step, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ranks := pair(t, serve(t, newFake(2)), shmDir(t))
				ranks[0].lines.on = func(message string) {
					if message == step {
						time.Sleep(2 * time.Minute)
					}
				}
				for i, err := range registerAll(context.Background(), ranks) {
					require.ErrorIs(t, err, ErrTimedOut)
					if i == 0 {
						assert.Equal(t, want, err.Error())
					}
				}
				ran(t, ranks, 0)
			})
		})
	}
}

// A restarted service that kept nothing gets the same report, and the other segments that it then names are opened.
func TestServiceForgets(t *testing.T) {
	for name, at := range map[string]string{
		"while ranks are missing": "PUT /v1/engines/engine-a/ranks/0",
		"before the answers":      "PUT /v1/engines/engine-a/attempts/1/ranks/1/probe",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				service := newFake(2)
				var seen atomic.Bool
				service.intercept = func(_ http.ResponseWriter, r *http.Request) bool {
					if r.Method+" "+r.URL.Path == at && !seen.Swap(true) {
						if name == "before the answers" {
							service.forget()
							return false
						}
						go func() {
							synctest.Wait()
							service.forget()
						}()
					}
					return false
				}
				ranks := pair(t, serve(t, service), shmDir(t))
				first, second := make(chan error, 1), make(chan error, 1)
				go func() { first <- ranks[0].register(context.Background()) }()
				time.Sleep(10 * time.Second)
				before := service.bodies("ranks/0")
				go func() { second <- ranks[1].register(context.Background()) }()
				require.NoError(t, <-first)
				require.NoError(t, <-second)
				ran(t, ranks, 1)
				assert.Contains(t, before, service.reports[0].Incarnation, "the same incarnation")
				assert.Contains(t, before, service.reports[0].Segment.Name, "the same segment")
				assert.Contains(t, ranks[0].lines.messages(), "attempt forgotten")
				assert.EqualValues(t, 2, service.attempt)
				assert.Empty(t, service.revocations())
			})
		})
	}
}

// A replica that does not know the attempt yet is asked again. The answers stay those that were read first: by then the
// leader may have removed its segment.
func TestReplicaBehind(t *testing.T) {
	for name, knows := range map[string]bool{"after the answers": true, "before them": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				service := newFake(2)
				shm := shmDir(t)
				ranks := pair(t, serve(t, service), shm)
				var seen atomic.Bool
				service.intercept = func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.HasSuffix(r.URL.Path, "/ranks/1/probe") || seen.Swap(true) {
						return false
					}
					synctest.Wait() // until rank 0 has answered
					if knows {
						service.probe(httptest.NewRecorder(), r)
					}
					assert.NoError(t, os.RemoveAll(shm))
					assert.NoError(t, os.Mkdir(shm, 0o700))
					refuse(w, &v1.Problem{Status: http.StatusGone, Code: v1.CodeAttemptGone})
					return true
				}
				for _, err := range registerAll(context.Background(), ranks) {
					require.NoError(t, err)
				}
				ran(t, ranks, 1)
			})
		})
	}
}

// A service that forgets every attempt is as good as lost, and is not asked faster and faster.
func TestServiceForgetsAlways(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(1)
		service.intercept = func(w http.ResponseWriter, r *http.Request) bool {
			forgotten := r.Method == http.MethodPut && r.URL.Path != "/v1/engines/engine-a/ranks/0"
			if forgotten {
				refuse(w, &v1.Problem{Status: http.StatusGone, Code: v1.CodeAttemptGone})
			}
			return forgotten
		}
		ranks := pair(t, serve(t, service), shmDir(t))[:1]
		began := time.Now()
		err := ranks[0].register(context.Background())
		require.ErrorIs(t, err, ErrServiceLost)
		assert.ErrorContains(t, err, "attempt_gone")
		assert.LessOrEqual(t, time.Since(began), 61*time.Second)
		assert.Less(t, len(service.log()), 300)
	})
}

// Wherever the context ends, the registration does at once, with the cause; the others are told; and the callback runs
// only if it had begun.
func TestCancelledAtEachStep(t *testing.T) {
	for _, step := range leaderSteps {
		t.Run(step, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				service := newFake(2)
				ranks := pair(t, serve(t, service), shmDir(t))
				ctx, cancel := context.WithCancelCause(context.Background())
				ranks[0].lines.on = func(message string) {
					if message == step {
						cancel(errBoom)
					}
				}
				began := time.Now()
				other := make(chan error, 1)
				go func() { other <- ranks[1].register(context.Background()) }()
				err := ranks[0].register(ctx)
				switch step {
				case "callback starts", "callback done":
					assert.NoError(t, err)
					assert.NoError(t, <-other)
					ran(t, ranks, 1)
				default:
					assert.ErrorIs(t, err, errBoom)
					ran(t, ranks[:1], 0)
					assert.Zero(t, time.Since(began))
					cancelledFor(t, service, <-other, step)
				}
			})
		})
	}
}

// cancelledFor checks what another rank gets. What it is told depends on whether the attempt was reported, or had
// ended.
func cancelledFor(t *testing.T, service *fakeService, err error, step string) {
	t.Helper()
	at := slices.Index(leaderSteps, step)
	switch {
	case at < slices.Index(leaderSteps, "report sent"):
		assert.ErrorIs(t, err, ErrTimedOut, "the report was never sent")
	case step == "report sent":
		// The service may not know the report yet when it is asked for the attempt that has it.
		assert.True(t, errors.Is(err, ErrTimedOut) || errors.Is(err, ErrRevoked), "%v", err)
	case step == "answers sent":
		// The other rank may have been told of the admission before.
		assert.True(t, err == nil || errors.Is(err, ErrRevoked), "%v", err)
	case at < slices.Index(leaderSteps, "admission received"):
		assert.ErrorIs(t, err, ErrRevoked)
		assert.Len(t, service.revocations(), 1)
		assert.ErrorContains(t, err, "rank 0 gave up: cancelled: boom")
	default:
		assert.NoError(t, err)
	}
}

// A rank that gives up during its first request finds out which attempt it is in.
func TestCancelledBeforeTheFirstAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		ranks := pair(t, serve(t, service), shmDir(t))[:1]
		ctx, cancel := context.WithTimeout(context.Background(), firstPoll/2)
		defer cancel()
		err := ranks[0].register(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, []string{
			"PUT /v1/engines/engine-a/ranks/0", "GET /v1/engines/engine-a", "DELETE /v1/engines/engine-a/attempts/1",
		}, service.log())
		assert.Len(t, service.revocations(), 1)
	})
}

// Waiting is told about once a second, until there is a verdict.
func TestWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		ranks := pair(t, serve(t, service), shmDir(t))
		var missing [][]int64
		ranks[0].gate.opts.Waiting = func(p v1.Progress) { missing = append(missing, p.Missing) }
		first := make(chan error, 1)
		go func() { first <- ranks[0].register(context.Background()) }()
		time.Sleep(4500 * time.Millisecond)
		require.NoError(t, ranks[1].register(context.Background()))
		require.NoError(t, <-first)
		assert.Equal(t, [][]int64{{1}, {1}, {1}, {1}}, missing)
	})
}
