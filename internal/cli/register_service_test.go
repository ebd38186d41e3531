package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
)

// rendezvousService serves the routes of KV registration with the shipped rules until the test ends, and returns its URL.
func rendezvousService(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return rendezvousServiceAt(t, listener)
}

func rendezvousServiceAt(t testing.TB, listener net.Listener) string {
	t.Helper()
	rules, err := policy.New(t.Context(), policy.Options{})
	require.NoError(t, err)
	journal := &memoryJournal{written: map[string]bool{}, grown: make(chan struct{})}
	service, err := rendezvous.New(rendezvous.Options{
		Solo: true, Journal: journal,
		Decide: func(ctx context.Context, launch *v1.Launch) ([]byte, error) {
			decision, err := rules.DecideAt(ctx, topology.StageRegistration, launch)
			return decision.JSON, err
		},
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, service.Run(ctx)) })
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: routes(service)}}
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		stop()
		running.Wait()
		assert.NoError(t, rules.Close(context.Background()))
	})
	return server.URL
}

// memoryJournal keeps everything for as long as it lives.
type memoryJournal struct {
	mu      sync.Mutex
	entries []rendezvous.Entry
	written map[string]bool
	grown   chan struct{}
}

func (j *memoryJournal) Create(_ context.Context, key string, value []byte, _ time.Duration) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.written[key] {
		return rendezvous.ErrExists
	}
	j.written[key] = true
	j.entries = append(j.entries, rendezvous.Entry{Key: key, Value: value, Time: time.Now()})
	close(j.grown)
	j.grown = make(chan struct{})
	return nil
}

func (j *memoryJournal) Watch(ctx context.Context, deliver func(rendezvous.Entry), caughtUp func()) error {
	caughtUp()
	for delivered := 0; ; {
		j.mu.Lock()
		news, grown := j.entries[delivered:], j.grown
		j.mu.Unlock()
		for _, entry := range news {
			deliver(entry)
		}
		delivered += len(news)
		select {
		case <-grown:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func routes(s *rendezvous.Service) http.Handler {
	mux := http.NewServeMux()
	serve := func(pattern string, answer func(*http.Request, rendezvous.Key, time.Duration) (any, bool, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			wait, _ := time.ParseDuration(r.URL.Query().Get("wait"))
			body, done, err := answer(r, rendezvous.Key{Engine: r.PathValue("engine")}, wait)
			status, kind := http.StatusOK, "application/json"
			if !done {
				status = http.StatusAccepted
			}
			if err != nil {
				problem := problemOf(err)
				body, status, kind = problem, problem.Status, "application/problem+json"
			}
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(body) // the client may be gone
		})
	}
	serve("PUT /v1/engines/{engine}/ranks/{rank}", func(r *http.Request, key rendezvous.Key, wait time.Duration) (any, bool, error) {
		report := new(v1.Report)
		if err := json.NewDecoder(r.Body).Decode(report); err != nil {
			return nil, false, err
		}
		progress, err := s.Report(r.Context(), key, number(r, "rank"), report, wait)
		return progress, err == nil && (progress.Verdict != nil || progress.Admission != nil), err
	})
	serve("PUT /v1/engines/{engine}/attempts/{n}/ranks/{rank}/probe", func(r *http.Request, key rendezvous.Key, wait time.Duration) (any, bool, error) {
		probe := new(v1.Probe)
		if err := json.NewDecoder(r.Body).Decode(probe); err != nil {
			return nil, false, err
		}
		progress, err := s.Probe(r.Context(), key, number(r, "n"), number(r, "rank"), probe, wait)
		return progress, err == nil && progress.Admission != nil, err
	})
	serve("DELETE /v1/engines/{engine}/attempts/{n}", func(r *http.Request, key rendezvous.Key, _ time.Duration) (any, bool, error) {
		var revocation v1.Revocation
		if err := json.NewDecoder(r.Body).Decode(&revocation); err != nil {
			return nil, false, err
		}
		end, err := s.Revoke(r.Context(), key, number(r, "n"), revocation)
		return end, true, err
	})
	serve("GET /v1/engines/{engine}", func(_ *http.Request, key rendezvous.Key, _ time.Duration) (any, bool, error) {
		view, err := s.Engine(key)
		return view, true, err
	})
	serve("GET /v1/engines/{engine}/attempts/{n}", func(r *http.Request, key rendezvous.Key, _ time.Duration) (any, bool, error) {
		view, err := s.Attempt(key, number(r, "n"))
		return view, true, err
	})
	return mux
}

func number(r *http.Request, name string) int64 {
	n, _ := strconv.ParseInt(r.PathValue(name), 10, 64)
	return n
}

func problemOf(err error) *v1.Problem {
	var ended *rendezvous.EndedError
	var refused *rendezvous.Error
	switch {
	case errors.As(err, &ended):
		return &v1.Problem{Code: ended.End.Kind, Status: http.StatusConflict, Detail: ended.End.Message, End: &ended.End}
	case errors.As(err, &refused) && refused.Code == v1.CodeAttemptGone:
		return &v1.Problem{Code: refused.Code, Status: http.StatusGone, Detail: refused.Detail}
	case errors.As(err, &refused) && refused.Code == v1.CodeStore:
		return &v1.Problem{Code: refused.Code, Status: http.StatusServiceUnavailable, Detail: refused.Detail}
	case errors.As(err, &refused):
		return &v1.Problem{Code: refused.Code, Status: http.StatusBadRequest, Detail: refused.Detail, Pointer: refused.Pointer}
	}
	return &v1.Problem{Code: v1.CodeInternal, Status: http.StatusInternalServerError, Detail: err.Error()}
}
