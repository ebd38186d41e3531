package deploy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/tiergate/tiergate/internal/cli"
)

var directories = []string{"sidecar", "central", "webhook"}

// pod is the part of a pod's specification that is compared with a configuration.
type pod struct {
	Grace          int64       `yaml:"terminationGracePeriodSeconds"`
	InitContainers []container `yaml:"initContainers"`
	Containers     []container `yaml:"containers"`
}

type container struct {
	Name  string   `yaml:"name"`
	Image string   `yaml:"image"`
	Args  []string `yaml:"args"`
	Ports []struct {
		Name string `yaml:"name"`
		Port int    `yaml:"containerPort"`
	} `yaml:"ports"`
	Startup   *probe `yaml:"startupProbe"`
	Readiness *probe `yaml:"readinessProbe"`
	Liveness  *probe `yaml:"livenessProbe"`
}

type probe struct {
	HTTPGet struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
}

// object has the pods of the kinds that are used here.
type object struct {
	Kind     string `yaml:"kind"`
	Metadata struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		Replicas int `yaml:"replicas"`
		Template struct {
			Spec pod `yaml:"spec"`
		} `yaml:"template"`
		LeaderWorkerTemplate struct {
			LeaderTemplate struct {
				Spec pod `yaml:"spec"`
			} `yaml:"leaderTemplate"`
		} `yaml:"leaderWorkerTemplate"`
	} `yaml:"spec"`
	Webhooks []struct {
		TimeoutSeconds int `yaml:"timeoutSeconds"`
	} `yaml:"webhooks"`
}

// objects reads all manifests of a directory.
func objects(t *testing.T, directory string) (all []object) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("kustomize", directory, "*.yaml"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var o object
			err := decoder.Decode(&o)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, file)
			all = append(all, o)
		}
	}
	return all
}

// gate is the pod that runs tiergate, and its container.
func gate(t *testing.T, directory string) (pod, container) {
	t.Helper()
	for _, o := range objects(t, directory) {
		for _, p := range []pod{o.Spec.Template.Spec, o.Spec.LeaderWorkerTemplate.LeaderTemplate.Spec} {
			for _, c := range slices.Concat(p.InitContainers, p.Containers) {
				if c.Image == "tiergate" {
					return p, c
				}
			}
		}
	}
	t.Fatalf("%s runs no tiergate", directory)
	return pod{}, container{}
}

// Every file of a directory is used, and what is used is there.
func TestKustomizationsListTheirFiles(t *testing.T) {
	for _, directory := range directories {
		var k struct {
			Resources          []string `yaml:"resources"`
			Configurations     []string `yaml:"configurations"`
			ConfigMapGenerator []struct {
				Files []string `yaml:"files"`
			} `yaml:"configMapGenerator"`
		}
		text, err := os.ReadFile(filepath.Join("kustomize", directory, "kustomization.yaml"))
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, &k))
		listed := slices.Concat([]string{"kustomization.yaml"}, k.Resources, k.Configurations)
		for _, generated := range k.ConfigMapGenerator {
			listed = append(listed, generated.Files...)
		}
		entries, err := os.ReadDir(filepath.Join("kustomize", directory))
		require.NoError(t, err)
		var there []string
		for _, entry := range entries {
			there = append(there, entry.Name())
		}
		assert.ElementsMatch(t, there, listed, directory)
	}
}

// Tiergate judges its own example, and the same engine spread over two nodes.
func TestExamplesAreJudged(t *testing.T) {
	for _, test := range []struct {
		file   string
		status cli.Status
		want   []string
	}{
		{"kustomize/sidecar/leaderworkerset.yaml", cli.StatusAllow, []string{"ALLOW vllm: none of "}},
		{"testdata/spanning.yaml", cli.StatusDeny, []string{
			"DENY vllm: 1 of ", "FAIL tiering.node_local", "ranks 0-7 on vllm-0, ranks 8-15 on", "fix: place all ranks of a replica on one host",
		}},
	} {
		var stdout, stderr bytes.Buffer
		status := cli.Run(t.Context(), []string{"validate", test.file}, nil, strings.NewReader(""), &stdout, &stderr)
		assert.Equal(t, int(test.status), status, "%s%s", &stdout, &stderr)
		for _, want := range test.want {
			assert.Contains(t, stdout.String(), want)
		}
	}
}
