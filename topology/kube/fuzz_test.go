package kube_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/document"
	"github.com/tiergate/tiergate/topology/kube"
	"github.com/tiergate/tiergate/topology/vllm"
)

// FuzzRead holds the reader to its promises: it never panics, its errors are typed, and what it reads is a launch that
// every other part accepts.
func FuzzRead(f *testing.F) {
	manifests, err := filepath.Glob("testdata/*.yaml")
	require.NoError(f, err)
	for _, manifest := range manifests {
		data, err := os.ReadFile(manifest)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		engines, err := kube.Read(data)
		if err != nil {
			var problem *kube.Error
			require.ErrorAs(t, err, &problem)
			require.NotEmpty(t, problem.Code)
			return
		}
		require.NotEmpty(t, engines)
		for _, engine := range engines {
			text, err := json.Marshal(engine.Launch)
			require.NoError(t, err)
			launch, err := document.Launch(text, "application/json")
			require.NoError(t, err)
			resolved, err := vllm.Resolve(launch)
			require.NoError(t, err)
			_, err = topology.Fold(launch, resolved, topology.FoldOptions{Stage: topology.StageLaunch})
			var input *topology.InputError
			if err != nil {
				require.ErrorAs(t, err, &input)
				require.Equal(t, topology.CodeTooManyRanks, input.Code)
			}
		}
	})
}
