package test

import (
	"path/filepath"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admission "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// leaderWorkerSet is the part of leaderworkerset.x-k8s.io/v1 that the examples use, with the real pod templates. The module
// of the real type was not to be had.
type leaderWorkerSet struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		Replicas             *int32 `json:"replicas"`
		LeaderWorkerTemplate struct {
			Size           *int32                `json:"size"`
			RestartPolicy  string                `json:"restartPolicy"`
			LeaderTemplate *core.PodTemplateSpec `json:"leaderTemplate"`
			WorkerTemplate core.PodTemplateSpec  `json:"workerTemplate"`
		} `json:"leaderWorkerTemplate"`
	} `json:"spec"`
}

// types makes the real type of every kind that the manifests have.
var types = map[string]func() any{
	"v1/ConfigMap":                                func() any { return new(core.ConfigMap) },
	"v1/Namespace":                                func() any { return new(core.Namespace) },
	"v1/Service":                                  func() any { return new(core.Service) },
	"v1/ServiceAccount":                           func() any { return new(core.ServiceAccount) },
	"apps/v1/Deployment":                          func() any { return new(apps.Deployment) },
	"apps/v1/StatefulSet":                         func() any { return new(apps.StatefulSet) },
	"policy/v1/PodDisruptionBudget":               func() any { return new(policy.PodDisruptionBudget) },
	"networking.k8s.io/v1/NetworkPolicy":          func() any { return new(networking.NetworkPolicy) },
	"leaderworkerset.x-k8s.io/v1/LeaderWorkerSet": func() any { return new(leaderWorkerSet) },
	"monitoring.coreos.com/v1/ServiceMonitor":     func() any { return new(monitoring.ServiceMonitor) },
	"monitoring.coreos.com/v1/PrometheusRule":     func() any { return new(monitoring.PrometheusRule) },
	"admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration": func() any {
		return new(admission.ValidatingWebhookConfiguration)
	},
}

var directories = []string{"sidecar", "central", "webhook"}

// built is what kustomize makes of a directory, decoded strictly, by kind and name.
func built(t *testing.T, directory string) map[string]any {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).
		Run(filesys.MakeFsOnDisk(), filepath.Join("../kustomize", directory))
	require.NoError(t, err)
	objects := map[string]any{}
	for _, resource := range made.Resources() {
		text, err := resource.AsYAML()
		require.NoError(t, err)
		kind := resource.GetApiVersion() + "/" + resource.GetKind()
		require.Contains(t, types, kind)
		object := types[kind]()
		require.NoError(t, yaml.UnmarshalStrict(text, object), "%s", text)
		objects[resource.GetKind()+"/"+resource.GetName()] = object
	}
	return objects
}

// pods are the pod templates of a directory's objects, by the object and, where it has several, which.
func pods(objects map[string]any) map[string]*core.PodSpec {
	out := map[string]*core.PodSpec{}
	for name, object := range objects {
		switch object := object.(type) {
		case *apps.Deployment:
			out[name] = &object.Spec.Template.Spec
		case *apps.StatefulSet:
			out[name] = &object.Spec.Template.Spec
		case *leaderWorkerSet:
			out[name+"/leader"] = &object.Spec.LeaderWorkerTemplate.LeaderTemplate.Spec
			out[name+"/worker"] = &object.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec
		}
	}
	return out
}

func TestManifestsAreOfTheRealTypes(t *testing.T) {
	for _, directory := range directories {
		t.Run(directory, func(t *testing.T) {
			objects := built(t, directory)
			for name, pod := range pods(objects) {
				checkPod(t, name, pod, objects)
			}
		})
	}
}

// The test itself: a misspelt field must not pass.
func TestUnknownFieldsAreRefused(t *testing.T) {
	for kind, text := range map[string]string{
		"apps/v1/Deployment":                          "spec: {template: {spec: {containers: [{name: a, readynessProbe: {}}]}}}",
		"leaderworkerset.x-k8s.io/v1/LeaderWorkerSet": "spec: {leaderWorkerTemplate: {workerTemplate: {spec: {initContainer: []}}}}",
		"monitoring.coreos.com/v1/PrometheusRule":     "spec: {groups: [{name: a, rules: [{alert: A, exprs: b}]}]}",
	} {
		assert.ErrorContains(t, yaml.UnmarshalStrict([]byte(text), types[kind]()), "unknown field", kind)
	}
}
