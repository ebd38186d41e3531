package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/config"
)

// ownMetrics are the samples of Tiergate's own metrics, without the buckets of the histogram.
func ownMetrics(t *testing.T, url string) string {
	t.Helper()
	_, text := ask(t, http.MethodGet, url+"/metrics", "", "")
	var own []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "tiergate_") && !strings.HasPrefix(line, "tiergate_evaluation_seconds_bucket") &&
			!strings.HasPrefix(line, "tiergate_evaluation_seconds_sum") {
			own = append(own, line)
		}
	}
	return strings.Join(own, "")
}

func TestMetricsCountWhatHappened(t *testing.T) {
	r := start(t, options(hostile(), func(c *config.Serve) { c.DiagnosticAddr = "localhost:0" }))
	for range 2 {
		ask(t, http.MethodPost, r.url+"/v1/validate", "", tiered("engine-a", "gpu-a", "gpu-a"))
	}
	input := `{"input": ` + tiered("engine-a", "gpu-a", "gpu-b") + `}`
	ask(t, http.MethodPost, r.url+"/v1/data/tiergate/verdict", "", input)
	ask(t, http.MethodPost, r.url+"/v1/data/acme/report/size", "", input)
	ask(t, http.MethodPost, r.url+"/v1/validate", "", tiered("builtin", "gpu-a", "gpu-a"))
	ask(t, http.MethodPost, r.url+"/v1/validate", "", `{"engine": {"command": ["sleep"]}}`)
	ask(t, http.MethodPost, r.url+"/v1/validate", "", `{`)
	ask(t, http.MethodGet, r.url+"/v1/validate", "", "")
	ask(t, http.MethodGet, r.url+"/a/random/path", "", "")
	ask(t, http.MethodGet, r.url+"/health", "", "")
	info, err := hostile().Info()
	require.NoError(t, err)

	got := ownMetrics(t, r.URLs()[1])
	for _, want := range []string{
		`tiergate_check_outcomes_total{check="site.hostile",enforcement="deny",outcome="pass"} 3`,
		`tiergate_check_outcomes_total{check="tiering.node_local",enforcement="deny",outcome="fail"} 1`,
		`tiergate_check_outcomes_total{check="tiering.node_local",enforcement="deny",outcome="pass"} 2`,
		`tiergate_decisions_total{outcome="allow"} 2`,
		`tiergate_decisions_total{outcome="deny"} 1`,
		`tiergate_decisions_total{outcome="error"} 1`,
		`tiergate_decisions_total{outcome="invalid"} 1`,
		`tiergate_decisions_total{outcome="unknown"} 0`,
		`tiergate_evaluation_seconds_count 6`,
		`tiergate_http_requests_total{code="200",method="POST",route="/v1/data/*"} 2`,
		`tiergate_http_requests_total{code="200",method="POST",route="/v1/validate"} 2`,
		`tiergate_http_requests_total{code="200",method="GET",route="/health"} 1`,
		`tiergate_http_requests_total{code="400",method="POST",route="/v1/validate"} 1`,
		`tiergate_http_requests_total{code="404",method="",route="unmatched"} 1`,
		`tiergate_http_requests_total{code="405",method="",route="unmatched"} 1`,
		`tiergate_http_requests_total{code="422",method="POST",route="/v1/validate"} 1`,
		`tiergate_http_requests_total{code="500",method="POST",route="/v1/validate"} 1`,
		`tiergate_policy_info{digest="` + info.Digest + `",revision="` + info.Revision + `"} 1`,
		`tiergate_queue_body_bytes 0`,
		`tiergate_queue_rejections_total{reason="bytes"} 0`,
		`tiergate_queue_rejections_total{reason="deadline"} 0`,
		`tiergate_queue_rejections_total{reason="places"} 0`,
		`tiergate_queue_requests 0`,
		`tiergate_queue_turns 0`,
	} {
		assert.Contains(t, got, want+"\n")
	}
	assert.NotContains(t, got, "random", "paths must not become labels")
}
