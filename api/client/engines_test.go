package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/api/client"
	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestAttempt(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.EscapedPath() != "/v1/engines/a%2Fb%20c/attempts/3" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"status":404,"code":"unknown_engine"}`))
			return
		}
		assert.Equal(t, http.MethodGet, r.Method)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"engine":"a/b c","attempt":3,"ranks":[{"rank":0,"node":"gpu-a"}],"newer":1}`))
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	require.NoError(t, err)
	view, err := c.Attempt(t.Context(), "a/b c", 3)
	require.NoError(t, err)
	assert.Equal(t, &v1.AttemptView{Engine: "a/b c", Attempt: 3, Ranks: []v1.RankView{{Node: "gpu-a"}}}, view)

	_, err = c.Attempt(t.Context(), "other", 3)
	var problem *v1.Problem
	require.ErrorAs(t, err, &problem)
	assert.Equal(t, v1.CodeUnknownEngine, problem.Code)
}
