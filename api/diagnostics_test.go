package api

import (
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/config"
)

func TestProfilesAreAtTheDiagnosticAddressAlone(t *testing.T) {
	for _, on := range []bool{true, false} {
		r := start(t, options(shipped(), func(c *config.Serve) { c.DiagnosticAddr, c.Pprof = "localhost:0", on }))
		urls := r.URLs()
		for path, status := range map[string]int{
			"/debug/pprof/": 200, "/debug/pprof/heap": 200, "/debug/pprof/profile?seconds=1": 200, "/debug/pprof/symbol": 200,
			"/debug/pprof/trace?seconds=0.1": 200, "/debug/pprof/cmdline": 404, "/debug/pprof/profile?seconds=600": 400,
		} {
			if !on {
				status = http.StatusNotFound
			}
			response, text := ask(t, http.MethodGet, urls[1]+path, "", "")
			assert.Equal(t, status, response.StatusCode, "%s: %.200s", path, text)
			response, _ = ask(t, http.MethodGet, urls[0]+path, "", "")
			assert.Equal(t, http.StatusNotFound, response.StatusCode, path)
		}
	}
}

func TestConfigIsShownWithoutSecrets(t *testing.T) {
	m := guarded(t, cast, func(o *Options) { o.Config.NATS = "nats://fleet:hunter2@n1:4222" })
	answer := m.as(t, "admin", http.MethodGet, "/v1/config", nil).matches(t, describe(t), http.MethodGet, "/v1/config")
	assert.Contains(t, answer.text, `"nats":"nats://xxxxx@n1:4222"`)
	assert.Contains(t, answer.text, `"max_body":"8MiB"`)
	assert.NotContains(t, answer.text, "hunter2")
	open := start(t, options(shipped(), func(c *config.Serve) { c.DiagnosticAddr = "localhost:0" }))
	response, _ := ask(t, http.MethodGet, open.URLs()[0]+"/v1/config", "", "")
	assert.Equal(t, http.StatusForbidden, response.StatusCode)
	response, _ = ask(t, http.MethodGet, open.URLs()[1]+"/v1/config", "", "")
	assert.Equal(t, http.StatusOK, response.StatusCode)
}

// Load balancers hear that the service is not ready while it still answers; only then it closes its doors.
func TestDrainDelay(t *testing.T) {
	r := start(t, options(shipped(), func(c *config.Serve) { c.DrainDelay = 2 * time.Second }))
	begin := time.Now()
	r.stop()
	await(t, r.draining.Load)
	for time.Since(begin) < time.Second {
		response, _ := ask(t, http.MethodGet, r.url+"/health/ready", "", "")
		require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
		response, _ = ask(t, http.MethodPost, r.url+"/v1/validate", "", tiered("e", "gpu-a", "gpu-a"))
		require.Equal(t, http.StatusOK, response.StatusCode)
	}
	require.NoError(t, <-r.ended)
	assert.GreaterOrEqual(t, time.Since(begin), 2*time.Second)
}

// A listener that fails during the delay ends it.
func TestDrainDelayEndsWithAnAddressThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{log: slog.New(slog.DiscardHandler)}
		s.config.DrainDelay = time.Hour
		failed := make(chan error, 1)
		failed <- assert.AnError
		assert.ErrorIs(t, s.linger(failed), assert.AnError)
		begin := time.Now()
		assert.NoError(t, s.linger(make(chan error)))
		assert.Equal(t, time.Hour, time.Since(begin))
	})
}
