package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology/kube"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// shipped decides by the rules that ship, on a day that stays.
var shipped = sync.OnceValue(func() *policy.Engine {
	engine, err := policy.New(context.Background(), policy.Options{
		Now: func() time.Time { return time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		panic(err)
	}
	return engine
})

func byPolicy(ctx context.Context, engine *kube.Engine, _ bool) (*v1.Verdict, error) {
	d, err := shipped().Decide(ctx, engine.Launch)
	if err != nil {
		return nil, err
	}
	verdict := new(v1.Verdict)
	return verdict, json.Unmarshal(d.JSON, verdict)
}

func stored(t testing.TB, name string) *Review {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	r, err := Read(data)
	require.NoError(t, err)
	return r
}

// TestReviews answers reviews as API servers send them. Revision and digest change with every rule, so that the golden
// answers leave them out.
func TestReviews(t *testing.T) {
	outcomes := map[string]string{
		"connect-pod-exec":                   OutcomeIgnored,
		"create-deployment":                  v1.Deny,
		"create-deployment-without-engine":   OutcomeIgnored,
		"create-lws-cpu-only":                v1.Allow,
		"create-lws-spanning":                v1.Deny,
		"create-lws-spanning-dry-run":        v1.Deny,
		"create-lws-without-tiers":           v1.Allow,
		"create-lws-worker-differs":          v1.Deny,
		"create-pod":                         v1.Deny,
		"create-pod-of-lws":                  OutcomeTolerated,
		"create-pod-of-replicaset":           OutcomeTolerated,
		"create-pod-of-unknown-controller":   v1.Deny,
		"create-raycluster":                  v1.Unknown,
		"delete-lws":                         OutcomeIgnored,
		"update-deployment-script-label":     OutcomeTolerated,
		"update-lws-adds-tier":               v1.Deny,
		"update-lws-finalizer-while-deleted": OutcomeIgnored,
		"update-lws-heals":                   v1.Allow,
		"update-lws-image-only":              OutcomeTolerated,
		"update-lws-label":                   OutcomeTolerated,
		"update-lws-scale":                   OutcomeIgnored,
		"update-lws-status":                  OutcomeIgnored,
		"update-lws-wider":                   v1.Deny,
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if strings.HasSuffix(name, ".golden") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			answer, err := stored(t, name).Judge(t.Context(), "decision-1", byPolicy)
			require.NoError(t, err)
			assert.Equal(t, outcomes[name], answer.Outcome)
			assert.Equal(t, answer.Outcome != v1.Deny, answer.Allowed())
			golden(t, filepath.Join("testdata", name+".golden.json"), answer.JSON())
		})
		delete(outcomes, name)
	}
	if !t.Failed() {
		assert.Empty(t, outcomes)
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	var r reply
	require.NoError(t, json.Unmarshal(got, &r))
	for _, key := range []string{"revision", "digest"} {
		if r.Response.AuditAnnotations[key] != "" {
			r.Response.AuditAnnotations[key] = "..."
		}
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(r))
	if *update {
		require.NoError(t, os.WriteFile(path, text.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String(), "%s; -update rewrites it", path)
}

// A dry run gets the answer that the real request would get.
func TestDryRunsAreAnsweredAlike(t *testing.T) {
	real, dry := stored(t, "create-lws-spanning"), stored(t, "create-lws-spanning-dry-run")
	require.False(t, real.DryRun)
	require.True(t, dry.DryRun)
	dry.UID = real.UID
	var answers [2]string
	for i, r := range []*Review{real, dry} {
		answer, err := r.Judge(t.Context(), "decision-1", byPolicy)
		require.NoError(t, err)
		answers[i] = string(answer.JSON())
	}
	assert.Equal(t, answers[0], answers[1])
}

// What nobody can read is no answer, on creation.
func TestAnEngineThatCannotBeReadIsAnError(t *testing.T) {
	_, err := stored(t, "unread/create-deployment-script").Judge(t.Context(), "id", byPolicy)
	var unreadable *Error
	require.ErrorAs(t, err, &unreadable)
	assert.Equal(t, v1.CodeInvalidEngine, unreadable.Code)
	assert.Equal(t, "/request/object", unreadable.Pointer)
	assert.Contains(t, unreadable.Detail, "Deployment/scripted: container vllm: ")
	var manifest *kube.Error
	assert.ErrorAs(t, err, &manifest)
}

// What cannot be decided is never an answer: neither of the new object, nor of the old one that it is compared with.
func TestFailuresOfThePolicyAreErrors(t *testing.T) {
	broken := errors.New("broken")
	fail := func(when bool) Decide {
		return func(ctx context.Context, engine *kube.Engine, before bool) (*v1.Verdict, error) {
			if before == when {
				return nil, broken
			}
			return byPolicy(ctx, engine, before)
		}
	}
	for _, before := range []bool{false, true} {
		_, err := stored(t, "update-lws-wider").Judge(t.Context(), "id", fail(before))
		assert.ErrorIs(t, err, broken)
	}
	odd := func(context.Context, *kube.Engine, bool) (*v1.Verdict, error) {
		return &v1.Verdict{Outcome: "perhaps"}, nil
	}
	_, err := stored(t, "create-pod").Judge(t.Context(), "id", odd)
	assert.EqualError(t, err, `the verdict on Pod/pod-1gpu, container vllm has the outcome "perhaps"`)
}

// Only a change of what is judged has the old object judged too.
func TestTheOldObjectIsJudgedOnlyToCompare(t *testing.T) {
	for name, want := range map[string][]bool{
		"update-lws-label":      {false},
		"update-lws-image-only": {false, true},
		"update-lws-wider":      {false, true},
		"update-lws-heals":      {false},
		"update-lws-scale":      nil,
		"create-pod":            {false},
	} {
		var asked []bool
		_, err := stored(t, name).Judge(t.Context(), "id", func(ctx context.Context, e *kube.Engine, before bool) (*v1.Verdict, error) {
			asked = append(asked, before)
			return byPolicy(ctx, e, before)
		})
		require.NoError(t, err)
		assert.Equal(t, want, asked, name)
	}
}
