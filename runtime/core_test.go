package runtime

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func coreOf(t *testing.T, h http.Handler) *rank {
	t.Helper()
	return newRank(t, serve(t, h), shmDir(t), tensorMember(0, 2))
}

func (r *rank) admitCore() error { return r.gate.AdmitCore(context.Background(), r.member.Engine, 0) }

func TestCoreAdmitted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		service.core = &v1.CoreAdmission{Outcome: v1.Allow, Attempt: 1, AttemptID: "attempt-1"}
		require.NoError(t, coreOf(t, service).admitCore())
		assert.Equal(t, []string{"GET /v1/engines/engine-a", "PUT /v1/engines/engine-a/attempts/1/core"}, service.log())
		assert.Contains(t, service.bodies("core"), `"attempt_id":"attempt-1"`)
		assert.Contains(t, service.bodies("core"), `"facts":{"node":"/dev/shm/`)
	})
}

func TestCoreOfReplica(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		service.core = &v1.CoreAdmission{Outcome: v1.Allow, Attempt: 1, AttemptID: "attempt-1"}
		r, data := coreOf(t, service), int64(4)
		r.member.Engine.Parallel.Data = &data
		require.NoError(t, r.gate.AdmitCore(context.Background(), r.member.Engine, 3))
		assert.Equal(t, "GET /v1/engines/engine-a.dp3", service.log()[0])
	})
}

func TestCoreNeedsNoGate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		r := coreOf(t, service)
		r.member.Engine.KVTransfer = nil
		require.NoError(t, r.admitCore())
		assert.Empty(t, service.log())
	})
}

func TestCoreNotAdmitted(t *testing.T) {
	ok := v1.CoreAdmission{Outcome: v1.Allow, Attempt: 1, AttemptID: "attempt-1"}
	with := func(alter func(a *v1.CoreAdmission)) *v1.CoreAdmission {
		a := ok
		alter(&a)
		return &a
	}
	for name, test := range map[string]struct {
		core *v1.CoreAdmission
		is   error
		want string
	}{
		"in capitals":     {with(func(a *v1.CoreAdmission) { a.Outcome = "Allow" }), ErrAnswer, `outcome "Allow"`},
		"nothing":         {nil, ErrAnswer, `outcome ""`},
		"another attempt": {with(func(a *v1.CoreAdmission) { a.Attempt = 2 }), ErrAnswer, "of attempt 2"},
		"another id":      {with(func(a *v1.CoreAdmission) { a.AttemptID = "x" }), ErrAnswer, "(x)"},
		"reject":          {&v1.CoreAdmission{Outcome: v1.Reject, Message: "another node"}, nil, "another node"},
		"silent reject":   {&v1.CoreAdmission{Outcome: v1.Reject, Attempt: 1}, nil, "the engine core was rejected in attempt 1"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				service := newFake(2)
				service.core = test.core
				err := coreOf(t, service).admitCore()
				require.ErrorContains(t, err, test.want)
				if test.is == nil {
					assert.ErrorAs(t, err, new(*CoreRejectedError))
					return
				}
				assert.ErrorIs(t, err, test.is)
			})
		})
	}
}

// Whatever the service does instead of answering, at the first or the second request, the core is not admitted, in
// time.
func TestCoreWithoutAnswer(t *testing.T) {
	problem := func(status int, code string, end *v1.AttemptEnd) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, &v1.Problem{Status: status, Code: code, Title: "Title", End: end})
		}
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"hangs":          {hang, "service lost"},
		"drops":          {drop, "service lost"},
		"unknown engine": {problem(404, v1.CodeUnknownEngine, nil), "unknown_engine"},
		"ended":          {problem(409, "x", &v1.AttemptEnd{Kind: v1.EndTimedOut, Message: "rank 1 is missing"}), "rank 1 is missing"},
		"forgotten":      {problem(410, v1.CodeAttemptGone, nil), "attempt_gone"},
		"garbage":        {raw(200, "application/json", "[]"), "cannot be read"},
		"no attempts":    {raw(200, "application/json", "{}"), ""},
		"never":          {raw(202, "application/json", "{}"), ""},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPut} {
			t.Run(name+" to "+method, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					service := newFake(2)
					service.core = &v1.CoreAdmission{Outcome: v1.Allow, Attempt: 1, AttemptID: "attempt-1"}
					service.intercept = func(w http.ResponseWriter, r *http.Request) bool {
						if r.Method == method {
							test.answer(w, r)
						}
						return r.Method == method
					}
					began := time.Now()
					require.ErrorContains(t, coreOf(t, service).admitCore(), test.want)
					assert.LessOrEqual(t, time.Since(began), 61*time.Second)
				})
			})
		}
	}
}

// The core waits while the attempt of its workers is open, and asks again where a replica does not know the attempt
// yet.
func TestCoreWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		service.core = &v1.CoreAdmission{Outcome: v1.Allow, Attempt: 1, AttemptID: "attempt-1"}
		answers := []int{http.StatusAccepted, http.StatusGone, http.StatusAccepted}
		service.intercept = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/core") || len(answers) == 0 {
				return false
			}
			status := answers[0]
			answers = answers[1:]
			if status == http.StatusGone {
				refuse(w, &v1.Problem{Status: status, Code: v1.CodeAttemptGone})
			} else {
				wait, err := time.ParseDuration(r.URL.Query().Get("wait"))
				assert.NoError(t, err)
				time.Sleep(wait)
				reply(w, status, struct{}{})
			}
			return true
		}
		require.NoError(t, coreOf(t, service).admitCore())
		assert.Empty(t, answers)
	})
}

func TestCoreLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		service.core = &v1.CoreAdmission{Outcome: v1.Allow, Attempt: 1, AttemptID: "attempt-1"}
		r := coreOf(t, service)
		r.lines.on = func(message string) {
			if message == "core's admission received" {
				time.Sleep(2 * time.Minute)
			}
		}
		assert.ErrorIs(t, r.admitCore(), ErrLate)
	})
}

func TestCoreCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := coreOf(t, http.HandlerFunc(hang))
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errBoom)
		defer cancel()
		began := time.Now()
		assert.ErrorIs(t, r.gate.AdmitCore(ctx, r.member.Engine, 0), errBoom)
		assert.Equal(t, time.Second, time.Since(began))
	})
}
