package test

import (
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admission "k8s.io/api/admissionregistration/v1"
)

func TestAlertsAreExpressions(t *testing.T) {
	rules := built(t, "central")["PrometheusRule/tiergate"].(*monitoring.PrometheusRule)
	for _, rule := range rules.Spec.Groups[0].Rules {
		_, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr.String())
		assert.NoError(t, err, rule.Alert)
		assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
	}
}

func TestWebhookConditions(t *testing.T) {
	webhook := built(t, "webhook")["ValidatingWebhookConfiguration/tiergate"].(*admission.ValidatingWebhookConfiguration).Webhooks[0]
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType))
	require.NoError(t, err)
	asked := func(metadata map[string]any) bool {
		for _, condition := range webhook.MatchConditions {
			tree, issues := env.Compile(condition.Expression)
			require.NoError(t, issues.Err(), condition.Name)
			program, err := env.Program(tree)
			require.NoError(t, err)
			answer, _, err := program.Eval(map[string]any{"object": map[string]any{"metadata": metadata}})
			require.NoError(t, err, condition.Name)
			if answer.Value() != true {
				return false
			}
		}
		return true
	}
	owner := func(o map[string]any) map[string]any { return map[string]any{"ownerReferences": []any{o}} }
	assert.True(t, asked(map[string]any{"name": "vllm"}))
	assert.True(t, asked(owner(map[string]any{"kind": "Application"})), "whoever applied it is no controller")
	assert.True(t, asked(owner(map[string]any{"apiVersion": "v1/apps", "kind": "ReplicaSet"})), "nor is a bystander")
	assert.True(t, asked(owner(map[string]any{"apiVersion": "nvidia.com/v1", "kind": "DynamoGraphDeployment", "controller": true})),
		"what an operator makes of a kind that is not judged")
	assert.True(t, asked(owner(map[string]any{"apiVersion": "evil.dev/apps/v1", "kind": "ReplicaSet", "controller": true})))
	var resources []string
	for _, rule := range webhook.Rules {
		resources = append(resources, rule.Resources...)
	}
	for kind, apiVersion := range map[string]string{
		"ReplicationController": "v1", "Deployment": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "DaemonSet": "apps/v1",
		"Job": "batch/v1", "CronJob": "batch/v1", "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1", "RayCluster": "ray.io/v1",
		"RayJob": "ray.io/v1", "RayService": "ray.io/v1", "LLMInferenceService": "serving.kserve.io/v1alpha1",
	} {
		assert.False(t, asked(owner(map[string]any{"apiVersion": apiVersion, "kind": kind, "controller": true})), kind)
		assert.Contains(t, resources, strings.ToLower(kind)+"s", "an owner that nobody asks about excuses nobody")
	}
	assert.False(t, asked(map[string]any{"deletionTimestamp": "2026-12-01T00:00:00Z"}))

	assert.Equal(t, "/v1/admission", *webhook.ClientConfig.Service.Path)
	assert.Equal(t, admission.Ignore, *webhook.FailurePolicy)
	assert.Equal(t, admission.SideEffectClassNone, *webhook.SideEffects)
	assert.NotEmpty(t, webhook.NamespaceSelector.MatchLabels, "a webhook for all namespaces can lock a cluster out")
}
