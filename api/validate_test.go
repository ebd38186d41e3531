package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology/document"
)

func verdictOf(t testing.TB, text string) v1.Verdict {
	t.Helper()
	var v v1.Verdict
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

func TestValidateAnswersWithTheVerdict(t *testing.T) {
	r := start(t, options(shipped(), nil))
	for _, test := range []struct{ launch, outcome string }{
		{tiered("engine-a", "gpu-a", "gpu-a"), v1.Allow},
		{tiered("engine-a", "gpu-a", "gpu-b"), v1.Deny},
	} {
		launch, err := document.Launch([]byte(test.launch), "")
		require.NoError(t, err)
		want, err := shipped().Decide(t.Context(), launch)
		require.NoError(t, err)
		response, text := ask(t, http.MethodPost, r.url+"/v1/validate", "application/json", test.launch)
		assert.Equal(t, http.StatusOK, response.StatusCode)
		assert.Equal(t, string(want.JSON), text, "the bytes are the policy's own")
		assert.Equal(t, test.outcome, verdictOf(t, text).Outcome)
		assert.Equal(t, test.outcome, response.Header.Get("Tiergate-Outcome"))
		assert.Equal(t, "application/json", response.Header.Get("Content-Type"))
		assert.Equal(t, int64(len(text)), response.ContentLength)
	}
}

func TestValidateReadsYAML(t *testing.T) {
	r := start(t, options(shipped(), nil))
	const launch = "engine: {command: [vllm, serve, m]}\nnodes:\n- id: gpu-a\n"
	for _, mediaType := range []string{"application/yaml", "application/yaml; charset=utf-8", "text/yaml"} {
		response, text := ask(t, http.MethodPost, r.url+"/v1/validate", mediaType, launch)
		require.Equal(t, http.StatusOK, response.StatusCode, text)
		assert.Equal(t, v1.Allow, verdictOf(t, text).Outcome)
	}
}

func TestBodyOfUnknownLength(t *testing.T) {
	r := start(t, options(shipped(), nil))
	for _, padding := range []int{0, firstBuffer, 300_000} {
		launch := tiered("engine-a", "gpu-a", "gpu-b") + strings.Repeat(" ", padding)
		response, text := do(t, post(t, r, chunks{strings.NewReader(launch)}))
		require.Equal(t, http.StatusOK, response.StatusCode, text)
		assert.Equal(t, v1.Deny, verdictOf(t, text).Outcome)
	}
}

// chunks hides the length of a reader.
type chunks struct{ r *strings.Reader }

func (c chunks) Read(p []byte) (int, error) { return c.r.Read(p) }

func TestPretty(t *testing.T) {
	r := start(t, options(shipped(), nil))
	launch := tiered("engine-a", "gpu-a", "gpu-b")
	_, plain := ask(t, http.MethodPost, r.url+"/v1/validate?pretty=false", "", launch)
	assert.NotContains(t, plain, "\n")
	for _, parameter := range []string{"?pretty", "?pretty=true"} {
		_, pretty := ask(t, http.MethodPost, r.url+"/v1/validate"+parameter, "", launch)
		assert.Contains(t, pretty, "{\n  \"outcome\": \"deny\",\n")
		assert.JSONEq(t, plain, pretty)
	}
}

func TestExplain(t *testing.T) {
	r := start(t, options(shipped(), nil))
	launch := tiered("engine-a", "gpu-a", "gpu-b")
	_, plain := ask(t, http.MethodPost, r.url+"/v1/validate", "", launch)
	_, policies := ask(t, http.MethodGet, r.url+"/v1/policies", "", "")
	for _, level := range []string{"notes", "full"} {
		response, text := ask(t, http.MethodPost, r.url+"/v1/validate?explain="+level, "", launch)
		assert.Equal(t, v1.Deny, response.Header.Get("Tiergate-Outcome"))
		assert.Equal(t, verdictOf(t, plain), verdictOf(t, text))
		var got, inForce struct {
			Checks      json.RawMessage
			Explanation struct {
				Checks json.RawMessage
				Facts  struct{ Stage, Now string }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		require.NoError(t, json.Unmarshal([]byte(policies), &inForce))
		assert.JSONEq(t, string(inForce.Checks), string(got.Explanation.Checks))
		assert.Equal(t, level == "full", got.Explanation.Facts.Stage == "launch")
		assert.Equal(t, level == "full", got.Explanation.Facts.Now == "2026-12-01T03:00:00Z")
	}
}

func TestRequestID(t *testing.T) {
	r := start(t, options(shipped(), nil))
	ids := map[string]bool{}
	for _, test := range []struct {
		given string
		kept  bool
	}{
		{"", false},
		{"", false},
		{"7f3a:b/c+d=e@f.g_H-9", true},
		{strings.Repeat("a", 128), true},
		{strings.Repeat("a", 129), false},
		{`a"b`, false},
		{"a b", false},
		{"é", false},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/health/live", nil)
		require.NoError(t, err)
		request.Header["X-Request-Id"] = []string{test.given}
		response, _ := do(t, request)
		id := response.Header.Get("X-Request-Id")
		if test.kept {
			assert.Equal(t, test.given, id)
		} else {
			assert.Regexp(t, "^[0-9a-f]{32}$", id)
		}
		assert.False(t, ids[id], "an id came twice")
		ids[id] = true
	}
}

// An explanation is never of other rules than those that gave the verdict, also while these are being replaced.
func TestExplainDuringASwap(t *testing.T) {
	engine := newEngine(0)
	t.Cleanup(func() { assert.NoError(t, engine.Close(context.Background())) })
	r := start(t, options(engine, nil))
	swapped := make(chan error, 1)
	go func() {
		defer close(swapped)
		for range 3 {
			more := engine.Swap(context.Background(), []policy.Source{hostileRules}, nil)
			swapped <- errors.Join(more, engine.Swap(context.Background(), nil, nil))
		}
	}()
	for {
		_, text := ask(t, http.MethodPost, r.url+"/v1/validate?explain=notes", "", tiered("engine-a", "gpu-a", "gpu-a"))
		var explained struct {
			Explanation struct{ Checks []policy.Check }
		}
		require.NoError(t, json.Unmarshal([]byte(text), &explained))
		assert.Len(t, explained.Explanation.Checks, len(verdictOf(t, text).Checks))
		select {
		case err, more := <-swapped:
			require.NoError(t, err)
			if !more {
				return
			}
		default:
		}
	}
}
