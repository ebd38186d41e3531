package webhook

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology/kube"
)

// A review that is not understood is not answered.
func TestReadRefuses(t *testing.T) {
	const head = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": `
	for _, test := range []struct{ name, text, want string }{
		{"nothing", ``, "the body is empty; an AdmissionReview is expected"},
		{"cut off", `{"kind": "Adm`, "/kind: the document ends too early, at byte 13; it was cut off, or a bracket or quote is not closed"},
		{
			"an older version", `{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {}}`,
			`the document is a "AdmissionReview" of "admission.k8s.io/v1beta1"; only an AdmissionReview of admission.k8s.io/v1 is ` +
				`answered: set admissionReviewVersions: [v1]`,
		},
		{"a launch", `{"engine": {}}`, `the document is a "" of ""; only an AdmissionReview of admission.k8s.io/v1 is answered: set ` +
			`admissionReviewVersions: [v1]`},
		{"no request", head + `null}`, "/request: a review without a request has nothing to answer"},
		{"no uid", head + `{"operation": "CREATE"}}`, "/request/uid: the request has no uid, which the answer must repeat"},
		{
			"no operation", head + `{"uid": "u"}}`,
			`/request/operation: "" is no operation; there are CREATE, UPDATE, DELETE and CONNECT`,
		},
		{
			"an unknown operation", head + `{"uid": "u", "operation": "PATCH"}}`,
			`/request/operation: "PATCH" is no operation; there are CREATE, UPDATE, DELETE and CONNECT`,
		},
		{
			"no object", head + `{"uid": "u", "operation": "CREATE", "object": null}}`,
			"/request/object: a request to create or update has an object",
		},
		{
			"a text as the object", head + `{"uid": "u", "operation": "CREATE", "object": "x"}}`,
			`/request/object: an object is expected, "\"x\"" is none`,
		},
		{"two uids", head + `{"uid": "u", "uid": "v", "operation": "DELETE"}}`, `/request/uid: key "uid" is given twice; keep one`},
		{"a uid of another type", head + `{"uid": 7}}`, "/request/uid: got a number; want a string in quotes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read([]byte(test.text))
			assert.EqualError(t, err, test.want)
		})
	}
}

func TestRead(t *testing.T) {
	r := stored(t, "create-pod-of-replicaset")
	assert.Equal(t, "CREATE", r.Operation)
	assert.Equal(t, "Pod", r.Kind)
	assert.Equal(t, "llm", r.Namespace)
	assert.Equal(t, "decode-7d9f8c6b5-", r.Name)
	assert.Equal(t, "system:serviceaccount:kube-system:replicaset-controller", r.User)
	assert.Equal(t, "ReplicaSet/decode-7d9f8c6b5", r.controller())
	assert.Empty(t, stored(t, "create-pod-of-unknown-controller").controller())
}

// Only the owner that made the object counts, and only a kind of the right group.
func TestController(t *testing.T) {
	for _, test := range []struct {
		owner owner
		want  string
	}{
		{owner{"apps/v1", "StatefulSet", "a", true}, "StatefulSet/a"},
		{owner{"v1", "ReplicationController", "a", true}, "ReplicationController/a"},
		{owner{"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "a", true}, "LeaderWorkerSet/a"},
		{owner{"apps/v1", "StatefulSet", "a", false}, ""},
		{owner{"example.com/v1", "StatefulSet", "a", true}, ""},
		{owner{"apps", "ReplicationController", "a", true}, "ReplicationController/a"},
		{owner{"v1", "Pod", "a", true}, ""},
	} {
		r := &Review{}
		r.meta.Metadata.OwnerReferences = []owner{{Kind: "Node", Name: "n"}, test.owner}
		assert.Equal(t, test.want, r.controller(), test.owner)
	}
}

// FuzzRead: whatever comes, it is refused or answered with its own uid, within bounds, and denied only for a reason.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.json"))
	require.NoError(f, err)
	more, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	require.NoError(f, err)
	for _, file := range append(files, more...) {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data, v1.Deny)
		f.Add(data, v1.Unknown)
	}
	f.Fuzz(func(t *testing.T, data []byte, outcome string) {
		r, err := Read(data)
		if err != nil {
			return
		}
		answer, err := r.Judge(t.Context(), "id", func(context.Context, *kube.Engine, bool) (*v1.Verdict, error) {
			return &v1.Verdict{Outcome: outcome, Checks: []v1.CheckResult{{
				ID: "a.b", Outcome: v1.Fail, Enforcement: v1.EnforceDeny, Violations: []v1.Violation{{Message: string(data)}},
			}}}, nil
		})
		if err != nil {
			return
		}
		var got reply
		require.NoError(t, json.Unmarshal(answer.JSON(), &got))
		assert.Equal(t, r.UID, got.Response.UID)
		assert.Equal(t, answer.Allowed(), got.Response.Allowed)
		assert.LessOrEqual(t, len(got.Response.Warnings), maxWarnings)
		for _, warning := range got.Response.Warnings {
			assert.LessOrEqual(t, len([]rune(warning)), maxWarning)
		}
		if !got.Response.Allowed {
			assert.Equal(t, v1.Deny, outcome)
			assert.True(t, r.judged())
			assert.NotEmpty(t, got.Response.Status.Details.Causes)
		}
	})
}
