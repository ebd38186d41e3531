package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// alone registers rank 0 of two with a service that answers by a function, and returns how often it was asked and how
// long it took. The callback must not run.
func alone(t *testing.T, answer http.HandlerFunc) (asked int64, took time.Duration, err error) {
	t.Helper()
	var puts atomic.Int64
	n := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			puts.Add(1)
		}
		answer(w, r)
	}))
	ranks := pair(t, n, shmDir(t))[:1]
	began := time.Now()
	err = ranks[0].register(context.Background())
	ran(t, ranks, 0)
	return puts.Load(), time.Since(began), err
}

func raw(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// What the service refuses it would refuse again: nobody waits.
func TestRefusals(t *testing.T) {
	for code, status := range map[string]int{
		v1.CodeInvalidReport: 400, "unauthorized": 401, v1.CodeNotFound: 404, v1.CodeNoSharedRendezvous: 409, "too_large": 413,
		"unsupported_media_type": 415, v1.CodeProtocol: 426, v1.CodeInternal: 500, v1.CodeEvaluationDeadline: 504,
	} {
		t.Run(code, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				asked, took, err := alone(t, func(w http.ResponseWriter, _ *http.Request) {
					refuse(w, &v1.Problem{Status: status, Code: code, Title: "Title", Detail: "what is wrong", Pointer: "/facts"})
				})
				var refused *ServiceError
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, code, refused.Problem.Code)
				assert.Equal(t, status, refused.Problem.Status)
				require.ErrorAs(t, err, new(*v1.Problem))
				assert.Equal(t, "service http://127.0.0.1:8642: "+code+": what is wrong (at /facts)", err.Error())
				assert.EqualValues(t, 1, asked)
				assert.Zero(t, took)
			})
		})
	}
}

// What answers and is no Tiergate service is no reason to wait either: the address is wrong on all ranks.
func TestAnswersThatAreNone(t *testing.T) {
	progress := `"attempt": 1, "attempt_id": "a", "phase": "probe", "remaining_ms": 1000`
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"page":            {raw(200, "text/html", "<html>"), `200 OK with content type "text/html"; is this the address of a Tiergate service?`},
		"no type":         {raw(200, "", `{`+progress+`}`), "is this the address"},
		"nothing":         {raw(204, "", ""), "204 No Content"},
		"page not found":  {raw(404, "text/html", "<html>"), "404 Not Found"},
		"plain problem":   {raw(400, "application/json", `{"code": "x"}`), "400 Bad Request"},
		"codeless":        {raw(400, "application/problem+json", `{}`), "400 Bad Request"},
		"broken problem":  {raw(400, "application/problem+json", `{`), "400 Bad Request"},
		"broken":          {raw(200, "application/json", `{`), "read"},
		"empty":           {raw(200, "application/json", ``), "cannot be read"},
		"list":            {raw(200, "application/json", `[]`), "cannot be read"},
		"other document":  {raw(200, "application/json", `{"outcome": "allow"}`), "no attempt"},
		"no id":           {raw(200, "application/json", `{"attempt": 1}`), "no attempt"},
		"broken wait":     {raw(202, "application/json", `{"attempt": "1"}`), "cannot be read"},
		"no verdict":      {raw(200, "application/json", `{`+progress+`}`), "neither verdict nor admission"},
		"many segments":   {raw(200, "application/json", `{`+progress+`, "verdict": {}, "segments": [{}, {}, {}, {}]}`), "more segments"},
		"no admission":    {raw(200, "application/json", `{`+progress+`, "verdict": {"outcome": "allow"}}`), "no admission"},
		"bare admission":  {raw(200, "application/json", `{`+progress+`, "admission": {"outcome": "allow"}}`), "attempt 0"},
		"bare allow":      {raw(200, "application/json", `{`+progress+`, "outcome": "allow", "verdict": {"outcome": "allow"}}`), "no admission"},
		"huge":            {huge, "more than 67108864 bytes"},
		"huge page":       {raw(500, "text/html", strings.Repeat("x", maxAnswer+1)), "more than 67108864 bytes"},
		"redirect":        {http.RedirectHandler("http://elsewhere/v1", http.StatusTemporaryRedirect).ServeHTTP, `redirects to "http://elsewhere/v1", which is not followed`},
		"redirect of put": {http.RedirectHandler("/login", http.StatusSeeOther).ServeHTTP, `303 See Other`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				_, took, err := alone(t, test.answer)
				require.ErrorIs(t, err, ErrAnswer)
				assert.ErrorContains(t, err, test.want)
				assert.ErrorContains(t, err, "http://127.0.0.1:8642")
				assert.Less(t, took, time.Second)
			})
		})
	}
}

func huge(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	chunk := []byte(strings.Repeat(" ", 1<<20))
	for range maxAnswer>>20 + 10 {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// drip sends a byte a second, for ever.
func drip(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, " ")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(time.Second)
	}
}

func drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// truncate promises more than it sends.
func truncate(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"attempt": 1`)
	panic(http.ErrAbortHandler)
}

func overloaded(after int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", strconv.Itoa(after))
		refuse(w, &v1.Problem{Status: http.StatusServiceUnavailable, Code: v1.CodeOverloaded, Title: "Too much"})
	}
}

// troubles may pass. Seen is what the error says in the end.
var troubles = map[string]struct {
	answer http.HandlerFunc
	seen   string
}{
	"hangs":             {hang, "no answer in "},
	"drips":             {drip, "no answer in "},
	"drops":             {drop, "EOF"},
	"truncates":         {truncate, "EOF"},
	"overloaded":        {overloaded(1), "overloaded: Too much"},
	"overloaded longer": {overloaded(3600), "overloaded: Too much"},
	"slow down":         {raw(429, "text/plain", ""), "429 Too Many Requests"},
	"body too slow":     {raw(408, "application/problem+json", `{"code": "body_timeout", "title": "slow"}`), "body_timeout: slow"},
	"bad gateway":       {raw(502, "text/html", "<html>"), "502 Bad Gateway"},
	"gateway timeout":   {raw(504, "text/html", "<html>"), "504 Gateway Timeout"},
	"page of an error":  {raw(500, "text/html", "<html>"), "500 Internal Server Error"},
}

// A service in trouble is asked again until the deadline, not more often than it can bear, and then named.
func TestServiceLost(t *testing.T) {
	for name, trouble := range troubles {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				asked, took, err := alone(t, trouble.answer)
				lost(t, err, took, trouble.seen)
				assert.Greater(t, asked, int64(5))
				assert.Less(t, asked, int64(120))
			})
		})
	}
}

func lost(t *testing.T, err error, took time.Duration, seen string) {
	t.Helper()
	require.ErrorIs(t, err, ErrServiceLost)
	assert.ErrorContains(t, err, "service lost: http://127.0.0.1:8642 gave no answer for 1m0.5s; the last try: ")
	assert.ErrorContains(t, err, seen)
	assert.False(t, errors.As(err, new(*ServiceError)), "nothing was refused for good")
	assert.GreaterOrEqual(t, took, time.Minute)
	assert.LessOrEqual(t, took, 61*time.Second)
}

func TestServiceIsNotThere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serve(t, newFake(2))
		n.down.Store(true)
		ranks := pair(t, n, shmDir(t))[:1]
		began := time.Now()
		err := ranks[0].register(context.Background())
		lost(t, err, time.Since(began), "dial pipe: connection refused")
		ran(t, ranks, 0)
	})
}

// Trouble that passes, at any request of any rank, changes nothing.
func TestTroublePasses(t *testing.T) {
	for name, trouble := range troubles {
		for _, step := range []string{"/ranks/0", "/ranks/1", "/ranks/0/probe", "/ranks/1/probe"} {
			t.Run(name+step, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					service := newFake(2)
					var left atomic.Int64
					left.Store(3)
					service.intercept = func(w http.ResponseWriter, r *http.Request) bool {
						if !strings.HasSuffix(r.URL.Path, step) || r.Method != http.MethodPut || left.Add(-1) < 0 {
							return false
						}
						trouble.answer(w, r)
						return true
					}
					ranks := pair(t, serve(t, service), shmDir(t))
					for _, err := range registerAll(context.Background(), ranks) {
						require.NoError(t, err)
					}
					ran(t, ranks, 1)
					assert.EqualValues(t, 1, service.attempt)
				})
			})
		}
	}
}

// A service that vanishes after it said something leaves its last words in the error.
func TestServiceVanishes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(4)
		n := serve(t, service)
		ranks := pair(t, n, shmDir(t))[:1]
		service.intercept = func(_ http.ResponseWriter, r *http.Request) bool {
			if len(service.log()) > 1 {
				n.down.Store(true)
				panic(http.ErrAbortHandler)
			}
			return false
		}
		began := time.Now()
		err := ranks[0].register(context.Background())
		require.ErrorIs(t, err, ErrServiceLost)
		assert.ErrorContains(t, err, "connection refused; before that, attempt 1 was waiting for ranks 1, 2, 3")
		assert.Equal(t, service.phase+patience, time.Since(began), "not long after the service said that the phase is over")
		assert.EqualValues(t, 1, n.dialled.Load())
	})
}

// An answer that always says to wait, at once, is not asked for without a pause.
func TestServiceNeverWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked, took, err := alone(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				reply(w, http.StatusOK, v1.AttemptEnd{})
				return
			}
			reply(w, http.StatusAccepted, v1.Progress{Attempt: 1, AttemptID: "a", RemainingMS: 60000})
		})
		require.ErrorIs(t, err, ErrTimedOut)
		assert.Less(t, asked, int64(150))
		assert.LessOrEqual(t, took, 61*time.Second)
	})
}

// Times that no phase has do not make a rank wait beyond its own deadline, or overflow.
func TestRemainingTimesThatAreNone(t *testing.T) {
	for _, remaining := range []int64{-1, 0, 1 << 62} {
		t.Run(fmt.Sprint(remaining), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				_, took, err := alone(t, func(w http.ResponseWriter, r *http.Request) {
					reply(w, http.StatusAccepted, v1.Progress{Attempt: 1, AttemptID: "a", RemainingMS: remaining})
				})
				require.Error(t, err)
				assert.LessOrEqual(t, took, 61*time.Second)
			})
		})
	}
}
