package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/access"
	"github.com/tiergate/tiergate/internal/config"
	"github.com/tiergate/tiergate/internal/decisionlog"
)

// tokenOf is what an identity of the tests shows.
func tokenOf(name string) string { return "the-token-of-" + name }

// guarded is a service that asks for credentials. The identities are lines of its access file without their tokens, by name.
func guarded(t testing.TB, identities map[string]string, change func(*Options)) *meeting {
	t.Helper()
	file := "tokens:\n"
	for name, rest := range identities {
		file += fmt.Sprintf("  - {name: %s, sha256: %x, %s}\n", name, sha256.Sum256([]byte(tokenOf(name))), rest)
	}
	path := filepath.Join(t.TempDir(), "access.yaml")
	require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
	opts := options(shipped(), func(c *config.Serve) { c.Access = path })
	guard, err := access.Open(t.Context(), access.Options{File: path})
	require.NoError(t, err)
	opts.Access = guard
	if change != nil {
		change(&opts)
	}
	return meetWith(t, opts)
}

// as sends a request with the credentials of an identity; empty sends none.
func (m *meeting) as(t testing.TB, name, method, path string, body any) said {
	t.Helper()
	ctx := t.Context()
	if name != "" {
		ctx = context.WithValue(ctx, bearer{}, tokenOf(name))
	}
	answer, err := m.send(ctx, method, path, body)
	require.NoError(t, err)
	return answer
}

var cast = map[string]string{
	"launcher": "tenant: a, roles: [launcher]",
	"worker":   "tenant: a, roles: [worker]",
	"reader":   "tenant: a, roles: [reader]",
	"admin":    "tenant: a, roles: [admin]",
}

// TestWhoMayDoWhat asks every route as everybody. What is allowed may still fail otherwise, since nothing is there.
func TestWhoMayDoWhat(t *testing.T) {
	m := guarded(t, cast, func(o *Options) { o.Config.AdminAPI = true })
	const get, post, put, attempt = http.MethodGet, http.MethodPost, http.MethodPut, engineA + "/attempts/1"
	for _, test := range []struct{ method, path, allowed string }{
		{post, "/v1/validate", "launcher"},
		{post, "/v1/data/tiergate/verdict", "launcher"},
		{post, "/v1/admission", "launcher"},
		{put, engineA + "/ranks/0", "worker"},
		{put, attempt + "/ranks/0/probe", "worker"},
		{put, attempt + "/core", "worker"},
		{http.MethodDelete, attempt, "admin launcher worker"},
		{get, "/v1/engines", "admin launcher reader worker"},
		{get, engineA, "admin launcher reader worker"},
		{get, attempt, "admin launcher reader worker"},
		{get, "/v1/policies", "admin launcher reader"},
		{put, "/v1/policies", "admin"},
		{post, "/v1/policies/preview", "admin"},
		{get, "/v1/decisions", "admin"},
		{get, "/metrics", "admin launcher reader"},
		{get, "/v1/config", "admin"},
		{get, "/openapi.yaml", "admin launcher nobody reader worker"},
		{get, "/health", "admin launcher nobody reader worker"},
	} {
		var allowed []string
		for _, name := range []string{"admin", "launcher", "", "reader", "worker"} {
			answer := m.as(t, name, test.method, test.path, "{}")
			switch answer.StatusCode {
			case http.StatusUnauthorized:
				assert.Empty(t, name, test.path)
				assert.Equal(t, `Bearer realm="tiergate"`, answer.Header.Get("WWW-Authenticate"))
				answer.problem(t, http.StatusUnauthorized, v1.CodeUnauthenticated)
			case http.StatusForbidden:
				detail := answer.problem(t, http.StatusForbidden, v1.CodeForbidden).Detail
				assert.Contains(t, detail, "token:"+name+" may not do this: it takes the role ")
			default:
				if name == "" {
					name = "nobody"
				}
				allowed = append(allowed, name)
			}
		}
		assert.Equal(t, test.allowed, strings.Join(allowed, " "), "%s %s", test.method, test.path)
	}
	for _, rt := range m.routes {
		if strings.HasPrefix(rt.path, "/v1/") {
			assert.NotEmpty(t, rt.roles, "%s must say who may ask", rt.path)
		}
	}
}

// Engines of one name in two tenants are two engines.
func TestTenantsDoNotMeet(t *testing.T) {
	m := guarded(t, map[string]string{
		"a": "tenant: a, roles: [worker, launcher]", "b": "tenant: b, roles: [worker, launcher, admin]",
	}, nil)
	wait := engineA + "/ranks/0?wait=30s"
	early := make(chan said, 1)
	go func() {
		answer, _ := m.send(context.WithValue(t.Context(), bearer{}, tokenOf("a")), http.MethodPut, wait, worker(0, "gpu-a"))
		early <- answer
	}()
	await(t, func() bool { _, waiting := m.rendezvous.Load(); return waiting == 1 })

	assert.JSONEq(t, `{"engines": []}`, m.as(t, "b", http.MethodGet, "/v1/engines", nil).text)
	m.as(t, "b", http.MethodGet, engineA, nil).problem(t, http.StatusNotFound, v1.CodeUnknownEngine)
	m.as(t, "b", http.MethodDelete, engineA+"/attempts/1", nil).problem(t, http.StatusGone, v1.CodeAttemptGone)
	foreign := m.as(t, "b", http.MethodPut, engineA+"/ranks/1", worker(1, "gpu-a")).progress(t, http.StatusAccepted)
	assert.Equal(t, []int64{0}, foreign.Missing, "rank 1 of another tenant completes no engine of this one")

	second := m.as(t, "a", http.MethodPut, engineA+"/ranks/1?wait=30s", worker(1, "gpu-a")).progress(t, http.StatusOK)
	assert.Equal(t, second.AttemptID, (<-early).progress(t, http.StatusOK).AttemptID)
	assert.NotEqual(t, second.AttemptID, foreign.AttemptID)
}

func TestAttemptsAreBoundAndEnginesOwned(t *testing.T) {
	m := guarded(t, map[string]string{
		"fleet":    "tenant: a, roles: [worker], engines: [engine-*]",
		"other":    "tenant: a, roles: [worker]",
		"stranger": `tenant: a, roles: [worker, reader], engines: ["eval-*"]`,
		"launcher": "tenant: a, roles: [launcher]",
	}, nil)
	opened := m.as(t, "fleet", http.MethodPut, engineA+"/ranks/0", worker(0, "gpu-a")).progress(t, http.StatusAccepted)

	detail := m.as(t, "other", http.MethodPut, engineA+"/ranks/1", worker(1, "gpu-a")).problem(t, http.StatusForbidden, v1.CodeForbidden).Detail
	assert.Equal(t, "attempt 1 of engine engine-a was opened by token:fleet, and token:other asks; all ranks of an engine use one identity: "+
		"give these workers the same credentials, or another engine id", detail)
	m.as(t, "other", http.MethodDelete, engineA+"/attempts/1", nil).problem(t, http.StatusForbidden, v1.CodeForbidden)

	for _, call := range []struct{ method, path string }{
		{http.MethodPut, engineA + "/ranks/1"}, {http.MethodGet, engineA}, {http.MethodDelete, engineA + "/attempts/1"},
	} {
		detail = m.as(t, "stranger", call.method, call.path, worker(1, "gpu-a")).problem(t, http.StatusForbidden, v1.CodeForbidden).Detail
		assert.Equal(t, "token:stranger may not ask about engine engine-a; its engines are eval-*", detail)
	}
	assert.JSONEq(t, `{"engines": []}`, m.as(t, "stranger", http.MethodGet, "/v1/engines", nil).text, "it sees no more than it may ask about")

	assert.Contains(t, m.as(t, "launcher", http.MethodGet, engineA, nil).text, `"opened_by":"token:fleet"`)
	end := m.as(t, "launcher", http.MethodDelete, engineA+"/attempts/1", &v1.Revocation{AttemptID: opened.AttemptID, Reason: "drain"})
	require.Equal(t, http.StatusOK, end.StatusCode, "who launches a tenant's engines may also call them off: %s", end.text)
}

func TestLimitsOfAnIdentity(t *testing.T) {
	m := guarded(t, map[string]string{
		"ci":    "tenant: a, roles: [launcher], limits: {requests_per_second: 0.001, burst: 2, max_body: 1KiB}",
		"other": "tenant: a, roles: [launcher]",
	}, nil)
	large := `{"engine": {"nnodes": 1, "id": "` + strings.Repeat("x", 2<<10) + `"}}`
	m.as(t, "ci", http.MethodPost, "/v1/validate", large).problem(t, http.StatusRequestEntityTooLarge, "too_large")
	require.Equal(t, http.StatusOK, m.as(t, "ci", http.MethodPost, "/v1/validate", tiered("e", "gpu-a", "gpu-a")).StatusCode)
	limited := m.as(t, "ci", http.MethodPost, "/v1/validate", tiered("e", "gpu-a", "gpu-a"))
	limited.problem(t, http.StatusTooManyRequests, v1.CodeRateLimited)
	assert.NotEmpty(t, limited.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, m.as(t, "other", http.MethodPost, "/v1/validate", large).StatusCode)
}

// What is set by name lets everybody ask who shows nothing; bad credentials are not nothing.
func TestNobodyInParticular(t *testing.T) {
	m := guarded(t, cast, func(o *Options) { o.Config.AllowUnauthenticated, o.Config.AdminAPI = true, true })
	require.Equal(t, http.StatusOK, m.as(t, "", http.MethodPost, "/v1/validate", tiered("e", "gpu-a", "gpu-a")).StatusCode)
	m.as(t, "intruder", http.MethodPost, "/v1/validate", "{}").problem(t, http.StatusUnauthorized, v1.CodeUnauthenticated)
	m.as(t, "", http.MethodGet, "/v1/decisions", nil).problem(t, http.StatusForbidden, v1.CodeForbidden)
	m.as(t, "reader", http.MethodPost, "/v1/validate", "{}").problem(t, http.StatusForbidden, v1.CodeForbidden)
}

func TestDecisionsAndLogsNameTheIdentityAndNoToken(t *testing.T) {
	var out, lines bytes.Buffer
	log, err := decisionlog.Open(decisionlog.Options{Sink: decisionlog.Stream{W: &out}, RecentBytes: 1 << 20})
	require.NoError(t, err)
	m := guarded(t, map[string]string{
		"ci": "tenant: a, roles: [launcher, admin]", "b": "tenant: b, roles: [launcher, admin]",
	}, func(o *Options) {
		o.Decisions, o.Config.AdminAPI, o.Logger = log, true, logTo(&lines, slog.LevelInfo)
	})
	for i := range 3 {
		require.Equal(t, http.StatusOK, m.as(t, "ci", http.MethodPost, "/v1/validate", tiered(fmt.Sprint("e", i), "gpu-a", "gpu-a")).StatusCode)
	}
	m.as(t, "intruder", http.MethodPost, "/v1/validate", "{}").problem(t, http.StatusUnauthorized, v1.CodeUnauthenticated)
	await(t, func() bool { return log.Stats().Delivered == 3 })
	engines := func(name, query string) (list []string) {
		var answer struct{ Decisions []decisionlog.Record }
		require.NoError(t, json.Unmarshal([]byte(m.as(t, name, http.MethodGet, "/v1/decisions"+query, nil).text), &answer))
		for _, r := range answer.Decisions {
			assert.Equal(t, []string{"token:ci", "a"}, []string{r.Identity, r.Tenant})
			list = append(list, r.Engine)
		}
		return list
	}
	assert.Equal(t, []string{"e2", "e1", "e0"}, engines("ci", ""))
	assert.Equal(t, []string{"e2", "e1"}, engines("ci", "?limit=2"))
	assert.Equal(t, []string{"e0"}, engines("ci", "?engine=e0"))
	assert.Empty(t, engines("b", ""), "another tenant's")
	m.as(t, "ci", http.MethodGet, "/v1/decisions?limit=0", nil).problem(t, http.StatusBadRequest, v1.CodeInvalidParameter)
	m.as(t, "ci", http.MethodGet, "/v1/decisions", nil).matches(t, describe(t), http.MethodGet, "/v1/decisions")
	require.NoError(t, log.Close(t.Context()))
	m.stop()
	for range m.ended { //nolint:revive // until it has ended, and with it its log
	}
	assert.Contains(t, lines.String(), `"identity":"token:ci"`)
	all := out.String() + lines.String()
	assert.False(t, slices.ContainsFunc([]string{"ci", "b", "intruder"}, func(name string) bool { return strings.Contains(all, tokenOf(name)) }))
}
