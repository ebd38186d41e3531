package kube_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/topology/document"
	"github.com/tiergate/tiergate/topology/kube"
)

// Files of a few megabytes can ask for very many pods, templates and engines. What is done must stay linear in their
// size.
func TestHostileManifests(t *testing.T) {
	const engine = `{"name":"c%d","command":["vllm","serve","m","--distributed-executor-backend","ray"]},`
	engines := func(count int) string {
		var text strings.Builder
		for i := range count {
			fmt.Fprintf(&text, engine, i)
		}
		return strings.TrimSuffix(text.String(), ",")
	}
	const cluster = `{"kind":"RayCluster","metadata":{"name":"a"},"spec":{"headGroupSpec":{"template":{"spec":{"containers":[%s]}}},` +
		`"workerGroupSpecs":[%s]}}`
	scripts := `{"template":{"spec":{"containers":[{"command":["sh","-c","` + strings.Repeat("true;", 2000) + `"]}]}}},`
	for _, test := range []struct{ name, manifest, message string }{
		{
			"a pod of each of very many groups", fmt.Sprintf(cluster, engines(1), strings.Repeat("{},", 60_000)+"{}"), "",
		},
		{
			"more groups than pods are listed", fmt.Sprintf(cluster, engines(1), strings.Repeat("{},", 70_000)+"{}"),
			"RayCluster/a: the engines of the file take more than 65536 pods; check the sizes",
		},
		{
			"many engines among many templates", fmt.Sprintf(cluster, engines(300), strings.Repeat(scripts, 200)+"{}"), "",
		},
		{
			"a set of 2^62 pods", `{"kind":"LeaderWorkerSet","spec":{"leaderWorkerTemplate":{"size":4611686018427387904,` +
				`"workerTemplate":{"spec":{"containers":[` + engines(1) + `]}}}}}`,
			"LeaderWorkerSet/unnamed: the engines of the file take more than 65536 pods; check the sizes",
		},
		{
			"2^62 replicas", `{"kind":"StatefulSet","spec":{"replicas":4611686018427387904,"template":{"spec":{"containers":[` +
				engines(1) + `]}}}}`, "",
		},
		{
			"lists in lists", strings.Repeat(`{"kind":"List","items":[`, 200) + strings.Repeat(`]}`, 200),
			"no container starts a vLLM engine; looked at List/unnamed creates no pods that are read",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			start := time.Now()
			engines, err := kube.Read([]byte(test.manifest))
			assert.Less(t, time.Since(start), 20*time.Second)
			if test.message != "" {
				require.EqualError(t, err, test.message)
				return
			}
			require.NoError(t, err)
			assert.NotEmpty(t, engines)
		})
	}
}

func TestAliasCyclesEndInTheirError(t *testing.T) {
	_, err := kube.Read([]byte("kind: Pod\na: &a [*a]\n"))
	require.EqualError(t, err, `line 2: /a/0: anchor "a" contains itself; an alias may only name an anchor that is complete`)
	var problem *kube.Error
	require.ErrorAs(t, err, &problem)
	assert.Equal(t, document.CodeAliasCycle, problem.Code)
}
