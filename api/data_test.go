package api

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDataAnswersLikeOPA(t *testing.T) {
	r := start(t, options(hostile(), nil))
	launch := tiered("engine-a", "gpu-a", "gpu-b")
	_, verdict := ask(t, http.MethodPost, r.url+"/v1/validate", "", launch)
	for _, test := range []struct{ path, contentType, body, result, outcome string }{
		{"tiergate/verdict", "application/json", `{"input": ` + launch + `}`, verdict, "deny"},
		{"tiergate/verdict?metrics=true&provenance", "", `{"input": ` + launch + `}`, verdict, "deny"},
		{"tiergate/verdict?pretty", "application/yaml", "input: " + launch, verdict, "deny"},
		{"acme/report/size", "application/json", `{"input": ` + launch + `}`, "2", ""},
		{"acme/report/sometimes", "", `{"input": ` + tiered("loud", "gpu-a", "gpu-b") + `}`, "true", ""},
	} {
		response, text := ask(t, http.MethodPost, r.url+"/v1/data/"+test.path, test.contentType, test.body)
		require.Equal(t, http.StatusOK, response.StatusCode, text)
		var got struct {
			Result     json.RawMessage
			DecisionID string `json:"decision_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		assert.JSONEq(t, test.result, string(got.Result))
		assert.Equal(t, response.Header.Get("X-Request-Id"), got.DecisionID)
		assert.Equal(t, test.outcome, response.Header.Get("Tiergate-Outcome"))
	}
}
