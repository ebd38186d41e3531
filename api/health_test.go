package api

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/config"
)

func TestHealth(t *testing.T) {
	engine := newEngine(0)
	r := start(t, options(engine, nil))
	info, err := engine.Info()
	require.NoError(t, err)
	ready := `{"status":"ok","revision":"` + info.Revision + `"}`
	for path, want := range map[string]string{
		"/health": ready, "/health/ready": ready, "/health/live": `{"status":"ok"}`,
	} {
		response, text := ask(t, http.MethodGet, r.url+path, "", "")
		assert.Equal(t, http.StatusOK, response.StatusCode)
		assert.Equal(t, want, text)
	}
	require.NoError(t, engine.Close(context.Background()))
	for path, want := range map[string]int{"/health": 503, "/health/ready": 503, "/health/live": 200} {
		response, _ := ask(t, http.MethodGet, r.url+path, "", "")
		assert.Equal(t, want, response.StatusCode, "%s without an engine", path)
	}
	response, text := ask(t, http.MethodPost, r.url+"/v1/validate", "", tiered("engine-a", "gpu-a", "gpu-a"))
	golden(t, "problems/shutting_down.golden", shown(response, text))
}

// With a diagnostic address the main ones keep health, which launchers may ask, and lose metrics.
func TestDiagnosticAddress(t *testing.T) {
	r := start(t, options(shipped(), func(c *config.Serve) { c.DiagnosticAddr = "localhost:0" }))
	diagnostic := r.URLs()[1]
	for _, test := range []struct {
		url    string
		status int
	}{
		{r.url + "/health", 200},
		{r.url + "/health/live", 200},
		{r.url + "/metrics", 404},
		{r.url + "/v1/policies", 200},
		{diagnostic + "/health", 200},
		{diagnostic + "/health/ready", 200},
		{diagnostic + "/metrics", 200},
		{diagnostic + "/v1/policies", 404},
		{diagnostic + "/openapi.yaml", 404},
	} {
		response, _ := ask(t, http.MethodGet, test.url, "", "")
		assert.Equal(t, test.status, response.StatusCode, test.url)
	}
	response, _ := ask(t, http.MethodPost, diagnostic+"/v1/validate", "", tiered("engine-a", "gpu-a", "gpu-a"))
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
}
