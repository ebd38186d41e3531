package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime"
	"github.com/tiergate/tiergate/runtime/credentials"
)

func do(t *testing.T, ctx context.Context, request string) Answer {
	t.Helper()
	var a Answer
	require.NoError(t, json.Unmarshal(Do(ctx, []byte(request), slog.New(slog.DiscardHandler)), &a))
	return a
}

const tiered = `"engine": {"parallel": {"tensor": 2}}, "transfer": "{\"secondary_tiers\": [{\"type\": \"fs\"}]}"`

func TestNeedsGate(t *testing.T) {
	for request, want := range map[string]bool{
		`{"action": "needs_gate", ` + tiered + `}`:                                                  true,
		`{"action": "needs_gate", "engine": {"parallel": {"tensor": 2}}}`:                           false,
		`{"action": "needs_gate", "engine": {"parallel": {"tensor": 2}}, "transfer": "{torn"}`:      true,
		`{"action": "needs_gate", "engine": {"parallel": {"tensor": 1}}, "transfer": "{torn"}`:      false,
		`{"action": "needs_gate", "engine": {"parallel": {"tensor": 2}}, "transfer": "{\"a\": 1}"}`: false,
	} {
		a := do(t, t.Context(), request)
		require.Nil(t, a.Error, request)
		assert.Equal(t, want, *a.Needed, request)
	}
}

func TestEnvironment(t *testing.T) {
	named := do(t, t.Context(), `{"action": "environment", "env": ["TIERGATE_ENGINE_ID=chat"]}`)
	assert.Equal(t, Answer{Engine: "chat"}, named)
	master := do(t, t.Context(), `{"action": "environment", "name": {"MasterAddr": "gpu-a", "MasterPort": 29501}}`)
	assert.Equal(t, "gpu-a:29501", master.Engine)
	for _, request := range []string{
		`{"action": "environment"}`, `{"action": "environment", "env": ["RANK=torn", "TIERGATE_ENGINE_ID=chat"]}`,
	} {
		assert.Equal(t, CodeEnvironment, do(t, t.Context(), request).Error.Code, request)
	}
}

func TestFacts(t *testing.T) {
	a := do(t, t.Context(), `{"action": "facts", "env": ["TIERGATE_NODE=gpu-a"]}`)
	require.NotNil(t, a.Facts)
	assert.Equal(t, "gpu-a", a.Facts.Node)
}

// TestMistakes: what is wrong with a call is in its answer, and never an empty one, which would be a yes.
func TestMistakes(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	admit := `{"action": "admit", "url": "http://127.0.0.1:1", "engine_id": "e", "deadline_ms": 1000, "rank": 0, "world_size": 2, ` +
		`"groups": {"tp": [0, 1]}, ` + tiered + `}`
	for _, test := range []struct {
		ctx     context.Context
		request string
		code    string
		message string
	}{
		{t.Context(), ``, CodeRequest, "read request: EOF"},
		{t.Context(), `{"action": "admit"} {}`, CodeRequest, "read request: there is more behind it"},
		{t.Context(), `{"actoin": "admit"}`, CodeRequest, `read request: json: unknown field "actoin"`},
		{t.Context(), `{"action": "allow"}`, CodeRequest, `action "allow": allowed are admit, admit_core, needs_gate, environment and facts`},
		{t.Context(), `{"action": "admit", "url": "gpu-a", ` + tiered + `}`, CodeRequest, ""},
		{t.Context(), admit, CodeServiceLost, ""},
		{ended, admit, CodeCancelled, ""},
	} {
		a := do(t, test.ctx, test.request)
		require.NotNil(t, a.Error, test.request)
		assert.Equal(t, test.code, a.Error.Code, "%s: %s", test.request, a.Error.Message)
		if test.message != "" {
			assert.Equal(t, test.message, a.Error.Message)
		}
	}
}

// TestCodes: every error of the runtime has a code of its own, and brings along what programs need of it.
func TestCodes(t *testing.T) {
	ctx := t.Context()
	for _, test := range []struct {
		err  error
		want Failure
	}{
		{&runtime.RejectedError{Admission: &v1.Admission{Message: "m"}}, Failure{Code: CodeRejected, Message: "m", Admission: &v1.Admission{Message: "m"}}},
		{
			&runtime.CoreRejectedError{Admission: &v1.CoreAdmission{Message: "m"}},
			Failure{Code: CodeRejected, Message: "m", Core: &v1.CoreAdmission{Message: "m"}},
		},
		{&runtime.EndedError{End: v1.AttemptEnd{Kind: v1.EndTimedOut, Message: "m"}}, Failure{
			Code: CodeTimedOut, Message: "m", End: &v1.AttemptEnd{Kind: v1.EndTimedOut, Message: "m"},
		}},
		{&credentials.Error{What: "w", Err: errors.New("m")}, Failure{Code: CodeCredentials, Message: "w: m"}},
		{runtime.ErrSuperseded, Failure{Code: CodeSuperseded, Message: "superseded"}},
		{runtime.ErrDuplicateRank, Failure{Code: CodeDuplicateRank, Message: "duplicate rank"}},
		{runtime.ErrRevoked, Failure{Code: CodeRevoked, Message: "revoked"}},
		{runtime.ErrLate, Failure{Code: CodeLate, Message: "late"}},
		{runtime.ErrAnswer, Failure{Code: CodeAnswer, Message: "unexpected answer"}},
		{errors.New("rank 2 is not in a world of 2"), Failure{Code: CodeRequest, Message: "rank 2 is not in a world of 2"}},
	} {
		assert.Equal(t, &test.want, failure(ctx, test.err))
	}
	refused := failure(ctx, &runtime.ServiceError{Problem: &v1.Problem{Code: "no_shared_rendezvous"}})
	assert.Equal(t, CodeRefused, refused.Code)
	assert.Equal(t, "no_shared_rendezvous", refused.Problem.Code)
}
