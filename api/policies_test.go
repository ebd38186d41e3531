package api

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/policy"
)

func TestPoliciesShowsWhatIsInForce(t *testing.T) {
	r := start(t, options(hostile(), nil))
	info, err := hostile().Info()
	require.NoError(t, err)
	response, text := ask(t, http.MethodGet, r.url+"/v1/policies", "", "")
	var got policy.Info
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	assert.Equal(t, info, got)
	assert.Equal(t, `"`+info.Digest+`"`, response.Header.Get("ETag"))
	_, pretty := ask(t, http.MethodGet, r.url+"/v1/policies?pretty", "", "")
	assert.Contains(t, pretty, "\n  \"revision\"")
	assert.JSONEq(t, text, pretty)
}

func TestPoliciesNotModified(t *testing.T) {
	r := start(t, options(shipped(), nil))
	info, err := shipped().Info()
	require.NoError(t, err)
	for header, status := range map[string]int{
		`"` + info.Digest + `"`:             http.StatusNotModified,
		`W/"` + info.Digest + `"`:           http.StatusNotModified,
		`"other", "` + info.Digest + `"`:    http.StatusNotModified,
		`*`:                                 http.StatusNotModified,
		`"other"`:                           http.StatusOK,
		info.Digest:                         http.StatusOK,
		`"` + info.Digest[:20] + `"`:        http.StatusOK,
		`"sha256:` + info.Digest[7:] + `x"`: http.StatusOK,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/v1/policies", nil)
		require.NoError(t, err)
		request.Header.Set("If-None-Match", header)
		response, text := do(t, request)
		assert.Equal(t, status, response.StatusCode, header)
		assert.Equal(t, status == http.StatusNotModified, text == "")
		assert.NotEmpty(t, response.Header.Get("X-Request-Id"))
		assert.Equal(t, `"`+info.Digest+`"`, response.Header.Get("ETag"))
	}
}
