//go:build linux

package soak

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestReadAnswer(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       answer
		err        string
	}{
		{
			"verdict", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTiergate-Outcome: deny\r\n\r\n{}",
			answer{status: 200, outcome: "deny", body: []byte("{}")},
			"",
		},
		{
			"refusal", "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nConnection: close\r\ncontent-length: 0\r\n\r\n",
			answer{status: 503, retryAfter: true, last: true},
			"",
		},
		{"no HTTP", "hello, client\r\n", answer{}, `malformed: status line "hello, client\r\n"`},
		{"no length", "HTTP/1.1 200 OK\r\n\r\n", answer{}, "malformed: no length"},
		{"a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", answer{}, `malformed: length "x"`},
		{"cut off", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", answer{}, "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a answer
			err := a.read(bufio.NewReader(strings.NewReader(c.text)))
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, a)
		})
	}
}

func TestWrongAnswersAreSeen(t *testing.T) {
	body := func(outcome, id string) []byte {
		return []byte(`{"outcome":"` + outcome + `","checks":[{"id":"` + id + `","outcome":"fail","enforcement":"deny"},` +
			`{"id":"x.warned","outcome":"fail","enforcement":"warn"}]}`)
	}
	denied := Case{Name: "denied", Status: 200, Outcome: v1.Deny, Fails: []string{"a.b"}, read: verdict}
	for _, c := range []struct {
		name, want string
		answer     answer
	}{
		{"right", "", answer{status: 200, outcome: v1.Deny, body: body("deny", "a.b")}},
		{"status", "denied: status 400, want 200: {}", answer{status: 400, body: []byte("{}")}},
		{"outcome", `denied: outcome "allow", want "deny": {}`, answer{status: 200, outcome: v1.Allow, body: []byte("{}")}},
		{"reason", "denied: deny for [a.c], want deny for [a.b]", answer{status: 200, outcome: v1.Deny, body: body("deny", "a.c")}},
		{"body", "denied: allow for [a.b], want deny for [a.b]", answer{status: 200, outcome: v1.Deny, body: body("allow", "a.b")}},
		{"no verdict", "denied: unexpected end of JSON input: ", answer{status: 200, outcome: v1.Deny}},
	} {
		assert.Equal(t, c.want, denied.wrong(&c.answer, true), c.name)
	}
}

// serve answers requests by a handler, and returns a load of one case to it.
func serve(t *testing.T, handle http.HandlerFunc) *Load {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return &Load{
		Targets: []Target{{Network: "tcp", Address: server.Listener.Addr().String()}},
		Corpus:  []Case{{Name: "case", Path: "/v1/validate", Body: []byte(`"` + vary + `"`), Share: 1, Status: 200, Outcome: v1.Allow}},
	}
}

func TestLoadCountsWhatItGets(t *testing.T) {
	var mu sync.Mutex
	seen, again := map[string]bool{}, 0
	requests := 0
	load := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if seen[string(text)] {
			again++
		}
		seen[string(text)] = true
		switch requests++; requests % 5 {
		case 0:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Tiergate-Outcome", "deny")
			w.Header().Set("Content-Length", "0")
		case 3:
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("Tiergate-Outcome", "allow")
			w.Header().Set("Content-Length", "0")
		}
	})
	for name, tally := range map[string]*Tally{
		"closed": load.Closed(t.Context(), 2, 300*time.Millisecond),
		"open":   load.Open(t.Context(), 4, steady(500), 300*time.Millisecond),
	} {
		for what, n := range map[string]int{
			"accepted": len(tally.Accepted), "refused": len(tally.Refused), "bare": tally.Bare, "wrong": tally.Wrong, "lost": tally.Lost,
		} {
			assert.Positive(t, n, "%s: %s", name, what)
		}
		assert.NotEmpty(t, tally.First)
		assert.Positive(t, tally.Rate())
		assert.Greater(t, tally.Offered(), tally.Rate())
	}
	mu.Lock()
	defer mu.Unlock()
	assert.Zero(t, again, "no request is sent twice")
}

// An open load goes on while the server does not answer, and its latency counts from when requests were due.
func TestOpenLoadDoesNotWait(t *testing.T) {
	const stall = 300 * time.Millisecond
	var once sync.Once
	load := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() { time.Sleep(stall) }) // what is measured, not a synchronisation
		w.Header().Set("Tiergate-Outcome", "allow")
		w.Header().Set("Content-Length", "0")
	})
	tally := load.Open(t.Context(), 1, steady(200), 2*stall)
	assert.Greater(t, percentile(tally.Accepted, 100), stall*9/10)
	assert.Zero(t, tally.Lost+tally.Wrong, tally.First)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Zero(t, load.Closed(ctx, 1, time.Hour).Lost, "the end of a run is no loss")
}

func TestPercentile(t *testing.T) {
	ten := []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, c := range []struct {
		values []time.Duration
		p      float64
		want   time.Duration
	}{{nil, 99, 0}, {ten[:1], 1, 1}, {ten, 50, 5}, {ten, 90, 9}, {ten, 91, 10}, {ten, 100, 10}} {
		assert.Equal(t, c.want, percentile(c.values, c.p), "%g of %v", c.p, c.values)
	}
}
