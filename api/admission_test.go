package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/config"
	"github.com/tiergate/tiergate/internal/decisionlog"
	"github.com/tiergate/tiergate/policy"
)

const admissionPath = "/v1/admission"

// reviewOf is a review as an API server sends it.
func reviewOf(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "internal", "webhook", "testdata", name+".json"))
	require.NoError(t, err)
	return string(data)
}

// reviewAnswer is what the tests look at of an answer.
type reviewAnswer struct {
	Response struct {
		UID              string
		Allowed          bool
		Status           struct{ Message string }
		Warnings         []string
		AuditAnnotations map[string]string
	}
}

func answeredReview(t *testing.T, recorder *httptest.ResponseRecorder) *reviewAnswer {
	t.Helper()
	require.Equal(t, http.StatusOK, recorder.Code, recorder.Body)
	assert.Equal(t, "application/json", recorder.Header().Get("Content-Type"))
	var document any
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &document))
	describe(t).check(t, map[string]any{"$ref": "#/components/schemas/AdmissionReviewResponse"}, document)
	answer := new(reviewAnswer)
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), answer))
	return answer
}

// problemIn is the code and detail of a refused request.
func problemIn(t *testing.T, recorder *httptest.ResponseRecorder, status int) v1.Problem {
	t.Helper()
	var p v1.Problem
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &p), recorder.Body)
	assert.Equal(t, status, recorder.Code, recorder.Body)
	return p
}

func TestReviews(t *testing.T) {
	var out bytes.Buffer
	log, err := decisionlog.Open(decisionlog.Options{Sink: decisionlog.Stream{W: &out}})
	require.NoError(t, err)
	opts := options(shipped(), nil)
	opts.Decisions = log
	s, err := New(opts)
	require.NoError(t, err)

	denied := answeredReview(t, answered(s, http.MethodPost, admissionPath+"?timeout=10s", reviewOf(t, "create-lws-spanning")))
	assert.False(t, denied.Response.Allowed)
	assert.Contains(t, denied.Response.Status.Message, "tiering.node_local: ")
	assert.Equal(t, "id-1", denied.Response.AuditAnnotations["decision-id"])
	for _, name := range []string{
		"create-lws-spanning-dry-run", "update-lws-wider", "update-lws-label", "create-lws-cpu-only",
		"create-raycluster", "delete-lws", "update-lws-scale", "create-deployment-without-engine",
	} {
		answeredReview(t, answered(s, http.MethodPost, admissionPath, reviewOf(t, name)))
	}
	problemIn(t, answered(s, http.MethodPost, admissionPath, reviewOf(t, "unread/create-deployment-script")), http.StatusUnprocessableEntity)
	problemIn(t, answered(s, http.MethodPost, admissionPath, `{}`), http.StatusBadRequest)

	metrics := answered(s, http.MethodGet, "/metrics", "").Body.String()
	for _, line := range []string{
		`tiergate_admission_reviews_total{operation="CREATE",outcome="allow"} 1`,
		`tiergate_admission_reviews_total{operation="CREATE",outcome="deny"} 2`,
		`tiergate_admission_reviews_total{operation="CREATE",outcome="ignored"} 1`,
		`tiergate_admission_reviews_total{operation="CREATE",outcome="invalid"} 1`,
		`tiergate_admission_reviews_total{operation="CREATE",outcome="unknown"} 1`,
		`tiergate_admission_reviews_total{operation="DELETE",outcome="ignored"} 1`,
		`tiergate_admission_reviews_total{operation="UPDATE",outcome="deny"} 1`,
		`tiergate_admission_reviews_total{operation="UPDATE",outcome="ignored"} 1`,
		`tiergate_admission_reviews_total{operation="UPDATE",outcome="tolerated"} 1`,
		`tiergate_admission_reviews_total{operation="none",outcome="invalid"} 1`,
		// Neither the dry run nor the old object of the update counts as a decision.
		`tiergate_decisions_total{outcome="deny"} 3`,
		`tiergate_decisions_total{outcome="allow"} 1`,
		`tiergate_decisions_total{outcome="unknown"} 1`,
	} {
		assert.Contains(t, metrics, line+"\n")
	}

	require.NoError(t, log.Close(t.Context()))
	var records []decisionlog.Record
	for line := range bytes.Lines(out.Bytes()) {
		var r decisionlog.Record
		require.NoError(t, json.Unmarshal(line, &r))
		records = append(records, r)
	}
	require.Len(t, records, 6, "one for each verdict on what was asked")
	first := records[0]
	assert.Equal(t, decisionlog.KindReview, first.Kind)
	assert.Equal(t, policy.Verdict, first.Path)
	assert.Equal(t, "vllm", first.Engine)
	assert.Equal(t, denied.Response.AuditAnnotations["revision"], first.Revision)
	assert.Equal(t, denied.Response.AuditAnnotations["digest"], first.Digest)
	assert.Equal(t, &decisionlog.Review{
		UID: denied.Response.UID, Operation: "CREATE", Kind: "LeaderWorkerSet", Namespace: "llm", Name: "vllm", User: "alice@example.com",
		Outcome: v1.Deny,
	}, first.Review)
	assert.True(t, records[1].Review.DryRun)
	assert.Equal(t, "tolerated", records[3].Review.Outcome)
}

func TestReviewsThatGetNoAnswer(t *testing.T) {
	s, err := New(options(hostile(), nil))
	require.NoError(t, err)
	pod := reviewOf(t, "create-pod")
	for _, test := range []struct {
		name, query, contentType, body string
		status                         int
		code, detail                   string
	}{
		{"an empty body", "", "", "", 400, v1.CodeInvalidReview, "the body is empty"},
		{"no JSON", "", "", "apiVersion: v1", 400, "invalid_syntax", ""},
		{"YAML", "", "application/yaml", "a: b", 415, "unsupported_media_type", "API servers send reviews as application/json"},
		{"another version", "", "", strings.Replace(pod, "admission.k8s.io/v1", "admission.k8s.io/v2", 1), 400, v1.CodeInvalidReview, "k8s.io/v2"},
		{"no time", "?timeout=soon", "", pod, 400, v1.CodeInvalidParameter, `timeout is "soon"; allowed is a time such as 10s`},
		{"less than no time", "?timeout=-1s", "", pod, 400, v1.CodeInvalidParameter, `timeout is "-1s"`},
		{"a failing policy", "", "", strings.ReplaceAll(pod, "pod-1gpu", "conflict"), 500, v1.CodeEvaluationConflict, "conflict"},
		{"an undefined result", "", "", strings.ReplaceAll(pod, "pod-1gpu", "undefined"), 500, v1.CodeUndefined, "site.hostile"},
		{
			"too many objects", "", "", strings.Replace(pod, `"options"`, `"more": [`+strings.Repeat("{},", maxReviewObjects)+`{}], "options"`, 1),
			413, "too_large", "objects, at most",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodPost, admissionPath+test.query, strings.NewReader(test.body))
			request.Header.Set("Content-Type", test.contentType)
			recorder := httptest.NewRecorder()
			s.Handler().ServeHTTP(recorder, request)
			p := problemIn(t, recorder, test.status)
			assert.Equal(t, test.code, p.Code)
			assert.Contains(t, p.Detail, test.detail)
		})
	}
	metrics := answered(s, http.MethodGet, "/metrics", "").Body.String()
	assert.Contains(t, metrics, `tiergate_admission_reviews_total{operation="CREATE",outcome="error"} 2`)
}

// The answer comes before the API server stops to wait, though the policy would go on. On a busy machine the time may be over
// before the policy begins.
func TestReviewsEndBeforeTheAPIServerGivesUp(t *testing.T) {
	s, err := New(options(hostile(), nil))
	require.NoError(t, err)
	body := strings.ReplaceAll(reviewOf(t, "create-pod"), "pod-1gpu", "loop")
	recorder := answered(s, http.MethodPost, admissionPath+"?timeout=30ms", body)
	var p v1.Problem
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &p))
	assert.Contains(t, []string{v1.CodeEvaluationDeadline, v1.CodeOverloaded}, p.Code)
}

func TestReviewDeadline(t *testing.T) {
	s, err := New(options(shipped(), func(c *config.Serve) { c.DecisionTimeout = 6 * time.Second }))
	require.NoError(t, err)
	for query, want := range map[string]time.Duration{
		"": 6 * time.Second, "?timeout=30s": 6 * time.Second, "?timeout=6s": 5500 * time.Millisecond, "?timeout=2s": 1800 * time.Millisecond,
		"?timeout=10ms": 9 * time.Millisecond,
	} {
		x := &exchange{server: s, r: httptest.NewRequest(http.MethodPost, admissionPath+query, nil), start: now()}
		deadline, err := x.reviewDeadline()
		require.NoError(t, err)
		assert.Equal(t, want, deadline.Sub(now()), query)
	}
}

// The webhook's address answers API servers, which have no credentials; the others want them.
func TestReviewsAtTheWebhooksAddress(t *testing.T) {
	e := encrypt(t, false)
	main, webhook := e.URLs()[0], e.URLs()[1]
	code, text := status(t, e.as(t, ""), http.MethodPost, webhook+admissionPath+"?timeout=10s", reviewOf(t, "create-lws-spanning"))
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, text, `"allowed":false`)
	code, _ = status(t, e.as(t, ""), http.MethodPost, main+admissionPath, reviewOf(t, "create-lws-spanning"))
	assert.Equal(t, http.StatusUnauthorized, code)
}
