package test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
)

// external are the Secrets that docs/deploy.md has an operator make.
var external = []string{
	"tiergate-sidecar-tls", "tiergate-tls", "tiergate-nats-tls", "tiergate-nats-client-tls", "tiergate-webhook-tls",
}

// checkPod finds names that nothing carries: of volumes, ports, ConfigMaps and service accounts.
func checkPod(t *testing.T, name string, pod *core.PodSpec, objects map[string]any) {
	t.Helper()
	var volumes []string
	for _, volume := range pod.Volumes {
		volumes = append(volumes, volume.Name)
		if volume.ConfigMap != nil {
			assert.Contains(t, objects, "ConfigMap/"+volume.ConfigMap.Name, "%s: kustomize fills in the hash of its content", name)
		}
		if volume.Secret != nil {
			assert.Contains(t, external, volume.Secret.SecretName, name)
		}
	}
	if set, ok := objects[strings.Join(strings.Split(name, "/")[:2], "/")]; ok {
		volumes = append(volumes, claims(set)...)
	}
	if pod.ServiceAccountName != "" {
		assert.Contains(t, objects, "ServiceAccount/"+pod.ServiceAccountName, name)
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		checkContainer(t, name+"/"+container.Name, &container, volumes)
	}
}

func checkContainer(t *testing.T, name string, container *core.Container, volumes []string) {
	t.Helper()
	assert.Regexp(t, `^[a-z-]+:v?\d+\.\d+\.\d+$`, container.Image, "%s: kustomize sets images and their tags", name)
	assert.NotEmpty(t, container.Resources.Limits.Memory().Value(), "%s has no memory limit", name)
	for _, mount := range container.VolumeMounts {
		assert.Contains(t, volumes, mount.Name, name)
	}
	var ports []string
	for _, port := range container.Ports {
		ports = append(ports, port.Name)
	}
	for _, probe := range []*core.Probe{container.StartupProbe, container.ReadinessProbe, container.LivenessProbe} {
		if probe != nil {
			assert.Contains(t, ports, probe.HTTPGet.Port.String(), "%s: a probe asks a port that is none", name)
		}
	}
	if strings.HasPrefix(container.Image, "vllm") {
		return
	}
	assert.True(t, *container.SecurityContext.ReadOnlyRootFilesystem, name)
	assert.False(t, *container.SecurityContext.AllowPrivilegeEscalation, name)
	assert.Equal(t, []core.Capability{"ALL"}, container.SecurityContext.Capabilities.Drop, name)
}

// claims are the volumes that a StatefulSet makes for each pod.
func claims(object any) (names []string) {
	if set, ok := object.(*apps.StatefulSet); ok {
		for _, claim := range set.Spec.VolumeClaimTemplates {
			names = append(names, claim.Name)
		}
	}
	return names
}
