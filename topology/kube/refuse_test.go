package kube_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/topology/document"
	"github.com/tiergate/tiergate/topology/kube"
	"github.com/tiergate/tiergate/topology/vllm"
)

// deployment is a Deployment "engine" with one container "vllm", whose fields are the given lines.
func deployment(fields ...string) string {
	const indent = "\n        "
	return "kind: Deployment\nmetadata: {name: engine}\nspec:\n  template:\n    spec:\n      containers:\n      - name: vllm" +
		indent + strings.Join(fields, indent) + "\n"
}

func TestReadRefuses(t *testing.T) {
	const command = "command: [vllm, serve, model-x]"
	for _, test := range []struct {
		name, manifest, code, message string
	}{
		{"nothing", "", kube.CodeNoEngine, "the file holds no object"},
		{"comments", "---\n# nothing\n---\n", kube.CodeNoEngine, "the file holds no object"},
		{
			"objects without pods", "kind: Service\nmetadata: {name: a}\n---\nkind: ConfigMap\n---\n{}\n", kube.CodeNoEngine,
			"no container starts a vLLM engine; looked at Service/a creates no pods that are read; " +
				"ConfigMap/unnamed creates no pods that are read; object/unnamed creates no pods that are read",
		},
		{
			"containers without an engine", deployment("image: nginx:1") + "---\n" + deployment("command: [sleep, infinity]"),
			kube.CodeNoEngine, "no container starts a vLLM engine; looked at Deployment/engine, container vllm: " +
				"the entrypoint of image nginx:1; Deployment/engine, container vllm: sleep infinity",
		},
		{
			"more containers than are worth listing", strings.Repeat(deployment("image: nginx:1")+"---\n", 10), kube.CodeNoEngine,
			"no container starts a vLLM engine; looked at " +
				strings.Repeat("Deployment/engine, container vllm: the entrypoint of image nginx:1; ", 8) + "and 2 more",
		},
		{
			"broken YAML in a later object", deployment(command) + "---\nkind: [\n", document.CodeInvalidSyntax,
			"line 10: not valid YAML: did not find expected node content",
		},
		{
			"a list for an object", "- kind: Pod\n", document.CodeInvalidType, "line 1: got a list; want an object",
		},
		{
			"key given twice", deployment(command, "image: a", command), document.CodeDuplicateKey,
			`line 10: /spec/template/spec/containers/0/command: key "command" is given twice, first on line 8; keep one`,
		},
		{
			"number in a command", "kind: Service\n---\n" + deployment("command: [vllm, serve, model-x, -tp, 2]"),
			document.CodeInvalidType,
			"line 10: Deployment/engine: /spec/template/spec/containers/0/command/4: got a number; want a string in quotes",
		},
		{
			"number as a variable", deployment(command, "env:", "- name: A", "  value: 8"), document.CodeInvalidType,
			"line 11: Deployment/engine: /spec/template/spec/containers/0/env/0/value: got a number; want a string in quotes",
		},
		{
			"size of a set", "kind: LeaderWorkerSet\nspec: {leaderWorkerTemplate: {size: two}}\n", document.CodeInvalidType,
			"line 2: LeaderWorkerSet/unnamed: /spec/leaderWorkerTemplate/size: got a string; want a whole number",
		},
		{
			"replicas of a Ray group", "kind: RayCluster\nspec: {workerGroupSpecs: [{replicas: 1.5}]}\n", document.CodeInvalidType,
			"line 2: RayCluster/unnamed: /spec/workerGroupSpecs/0/replicas: " +
				"got the number 1.5; want a whole number, without fraction or exponent",
		},
		{
			"parallelism of a service", "kind: LLMInferenceService\nspec: {prefill: {parallelism: {tensor: '8'}}}\n",
			document.CodeInvalidType, "line 2: LLMInferenceService/unnamed: /spec/prefill/parallelism/tensor: " +
				"got a string; want a whole number",
		},
		{
			"command of a service", "kind: LLMInferenceService\nspec: {template: {containers: [{name: main, command: [sh, -c, 'vllm serve m; if']}]}}\n",
			kube.CodeInvalidEngine, "line 1: LLMInferenceService/unnamed: container main: /engine/command, line 1, column 15: " +
				"the script cannot be parsed: `if` must be followed by a statement list; correct the script",
		},
		{
			"quantity", deployment(command, "resources:", "  limits: {memory: 16GB}"), document.CodeInvalidValue,
			"line 10: Deployment/engine: /spec/template/spec/containers/0/resources/limits/memory: " +
				`quantity "16GB" cannot be read; write a number with a suffix such as Ki, Mi, Gi or G`,
		},
		{
			"quantity of a pod", "kind: Pod\nspec: {containers: [], volumes: [{emptyDir: {sizeLimit: -1}}]}\n", document.CodeInvalidValue,
			"line 2: Pod/unnamed: /spec/volumes/0/emptyDir/sizeLimit: " +
				`quantity "-1" is out of range; allowed are 0 to 9223372036854775807`,
		},
		{
			"item of a list", "kind: List\nitems:\n- kind: ConfigMap\n  metadata: {name: a}\n  data: {TP: 8}\n", document.CodeInvalidType,
			"ConfigMap/a: /data/TP: got a number; want a string in quotes",
		},
		{
			"header of an item of a list", "kind: PodList\nitems:\n- kind: 1\n", document.CodeInvalidType,
			"PodList item 0: /kind: got a number; want a string in quotes",
		},
		{
			"script that is none", deployment(`command: [sh, -c, "vllm serve model-x; if"]`), kube.CodeInvalidEngine,
			"line 1: Deployment/engine: container vllm: /engine/command, line 1, column 21: the script cannot be parsed: " +
				"`if` must be followed by a statement list; correct the script",
		},
		{
			"script of a leader's worker", "kind: LeaderWorkerSet\nmetadata: {name: a}\nspec: {leaderWorkerTemplate: {size: 2, leaderTemplate: {spec: " +
				"{containers: [{name: l, command: [vllm, serve, m, --nnodes, '2', -tp, '2']}]}}, workerTemplate: {spec: " +
				"{containers: [{name: w, command: [sh, -c, 'vllm serve $(']}]}}}}\n", kube.CodeInvalidEngine,
			"line 1: LeaderWorkerSet/a: container w: /engine/command, line 1, column 12: the script cannot be parsed: " +
				"reached EOF without matching `$(` with `)`; correct the script",
		},
		{
			"two engines in one script", deployment(`command: [sh, -c, "vllm serve a -tp 2 & vllm serve b -tp 4"]`), kube.CodeInvalidEngine,
			"line 1: Deployment/engine: container vllm: /engine/command/2: the script may start engines that differ: " +
				"`vllm serve a -tp 2` and `vllm serve b -tp 4`; a launch is one engine: give each a launch of its own, " +
				"or leave the one command that runs",
		},
		{
			"too many pods", "kind: RayCluster\nmetadata: {name: a}\nspec: {headGroupSpec: {template: {spec: {containers: [{name: h, " +
				"command: [vllm, serve, m, --distributed-executor-backend, ray]}]}}}, workerGroupSpecs: [{replicas: 1000000000}]}\n",
			kube.CodeTooManyPods, "line 1: RayCluster/a: the engines of the file take more than 65536 pods; check the sizes",
		},
		{
			"Serve configuration", "kind: RayService\nspec: {serveConfigV2: 'applications: {'}\n", kube.CodeInvalidEngine,
			"line 1: RayService/unnamed: serveConfigV2: line 1: not valid YAML: did not find expected node content",
		},
		{
			"arguments of a Serve application", "kind: RayService\nspec: {serveConfigV2: 'applications: [{name: a, args: {llm_configs: " +
				"[{model_loading_config: {model_id: m}, runtime_env: {env_vars: {A: \"\"}}, engine_kwargs: {kv-transfer-config: \"\\0\"}}]}}]'}\n",
			kube.CodeInvalidEngine, "line 1: RayService/unnamed: application a, model m: /engine/command/3: " +
				"the text holds a NUL character, which no command or variable can; remove it",
		},
		{
			"runtime environment", "kind: RayJob\nspec: {entrypoint: vllm serve m, runtimeEnvYAML: 'env_vars: {A: 1}'}\n",
			kube.CodeInvalidEngine, "line 1: RayJob/unnamed: runtimeEnvYAML: line 1: /env_vars/A: got a number; want a string in quotes",
		},
		{
			"entrypoint of a job", "kind: RayJob\nspec: {entrypoint: 'python train.py'}\n", kube.CodeNoEngine,
			"no container starts a vLLM engine; looked at RayJob/unnamed, entrypoint: sh -c python train.py",
		},
		{
			"100 MB", strings.Repeat(" ", 100<<20), document.CodeTooLarge, "the file has 104857600 bytes, at most 16777216 are read",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := kube.Read([]byte(test.manifest))
			var problem *kube.Error
			require.ErrorAs(t, err, &problem)
			assert.Equal(t, test.message, problem.Error())
			assert.Equal(t, test.code, problem.Code)
		})
	}
}

// Callers tell a file without an engine from one that cannot be read, and find the cause of the latter.
func TestErrorsHaveTheirCause(t *testing.T) {
	_, err := kube.Read([]byte("kind: Service\n"))
	require.ErrorIs(t, err, kube.ErrNoEngine)

	_, err = kube.Read([]byte("kind: [\n"))
	require.NotErrorIs(t, err, kube.ErrNoEngine)
	var syntax *document.Error
	require.ErrorAs(t, err, &syntax)
	assert.Equal(t, document.CodeInvalidSyntax, syntax.Code)

	_, err = kube.Read([]byte(deployment(`command: [sh, -c, "vllm serve model-x; if"]`)))
	var engine *vllm.Error
	require.ErrorAs(t, err, &engine)
	assert.Equal(t, vllm.CodeScript, engine.Code)
}

// Other programs of a pod may do what they like, as long as they do not speak of vLLM.
func TestScriptsOfSidecarsNeedNotBeReadable(t *testing.T) {
	engines, err := kube.Read([]byte(deployment("command: [vllm, serve, model-x]") +
		"      - {name: sidecar, command: [sh, -c, 'if']}\n"))
	require.NoError(t, err)
	require.Len(t, engines, 1)
	assert.Equal(t, "Deployment/engine, container vllm", engines[0].Source)
}

func TestReadJSON(t *testing.T) {
	const pod = `{"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "command": ["vllm", "serve", "m"]}]}}`
	for name, text := range map[string]string{
		"an object": pod,
		"a list":    `{"kind": "List", "items": [{"kind": "Service"}, ` + pod + `]}`,
		"indented":  "\n{\n\t\"kind\": \"PodList\",\n\t\"items\": [" + pod + "]\n}\n",
	} {
		engines, err := kube.Read([]byte(text))
		require.NoError(t, err, name)
		require.Len(t, engines, 1, name)
		assert.Equal(t, "Pod/a, container c", engines[0].Source, name)
		assert.Equal(t, []string{"vllm", "serve", "m"}, engines[0].Launch.Engine.Command, name)
	}
}
