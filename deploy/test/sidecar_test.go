package test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"
)

// What makes the sidecar one: it runs beside the engine, sees its /dev/shm, and nothing but its own crash restarts it.
func TestSidecar(t *testing.T) {
	templates := pods(built(t, "sidecar"))
	leader, worker := templates["LeaderWorkerSet/vllm/leader"], templates["LeaderWorkerSet/vllm/worker"]
	require.Len(t, leader.InitContainers, 1)
	sidecar, engine := leader.InitContainers[0], leader.Containers[0]
	require.NotNil(t, sidecar.RestartPolicy)
	assert.Equal(t, core.ContainerRestartPolicyAlways, *sidecar.RestartPolicy)
	assert.NotNil(t, sidecar.StartupProbe, "the engine waits for it")
	assert.Nil(t, sidecar.LivenessProbe, "a restart recreates the whole group")
	assert.Empty(t, worker.InitContainers, "a second service would be another rendezvous")

	shm := func(container core.Container) string {
		for _, mount := range container.VolumeMounts {
			if mount.MountPath == "/dev/shm" {
				return mount.Name
			}
		}
		return ""
	}
	assert.Equal(t, shm(engine), shm(sidecar))
	for name, pod := range templates {
		at := -1
		for i, volume := range pod.Volumes {
			if volume.Name == shm(pod.Containers[0]) {
				at = i
			}
		}
		require.GreaterOrEqual(t, at, 0, name)
		assert.Equal(t, core.StorageMediumMemory, pod.Volumes[at].EmptyDir.Medium, name)
	}

	assert.Equal(t, engine.Env, worker.Containers[0].Env, "all ranks ask one service in one way")
	env := map[string]core.EnvVar{}
	for _, variable := range engine.Env {
		env[variable.Name] = variable
	}
	assert.Equal(t, "https://$(LWS_LEADER_ADDRESS):8642", env["TIERGATE_URL"].Value)
	assert.Equal(t, "metadata.labels['leaderworkerset.sigs.k8s.io/group-key']", env["TIERGATE_ENGINE_ID"].ValueFrom.FieldRef.FieldPath)
}
