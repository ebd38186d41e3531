//go:build linux

package soak

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// The outcomes of a review.
const (
	allowed = "allowed"
	denied  = "denied"
)

// Reviews are what an API server asks the webhook: a Deployment of one pod, an engine on two pods with the same tiers, and
// what starts no engine.
func Reviews() []Case {
	const transfer = `{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":{"spec_name":"TieringOffloadingSpec",` +
		`"cpu_bytes_to_use":1073741824,"secondary_tiers":[{"type":"fs","root_dir":"/mnt/kv"}]}}`
	pod := func(command ...string) map[string]any {
		return map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{
				"name": "engine", "image": "engine", "command": command, "volumeMounts": []any{map[string]any{"name": "shm", "mountPath": "/dev/shm"}},
			}},
			"volumes": []any{map[string]any{"name": "shm", "emptyDir": map[string]any{"medium": "Memory", "sizeLimit": "8Gi"}}},
		}}
	}
	engine := func(more ...string) map[string]any {
		return pod(append([]string{"vllm", "serve", "model-x", "--tensor-parallel-size=8", "--kv-transfer-config", transfer}, more...)...)
	}
	deployment := func(template map[string]any) map[string]any { return map[string]any{"template": template} }
	wide := engine("--pipeline-parallel-size=2", "--nnodes=2", "--node-rank=$(LWS_WORKER_INDEX)", "--master-addr=$(LWS_LEADER_ADDRESS)")
	group := map[string]any{"leaderWorkerTemplate": map[string]any{"size": 2, "leaderTemplate": wide, "workerTemplate": wide}}
	return []Case{
		review("one pod", "apps", "Deployment", deployment(engine()), allowed),
		review("two pods", "leaderworkerset.x-k8s.io", "LeaderWorkerSet", group, denied),
		review("no engine", "apps", "Deployment", deployment(pod("sleep", "3600")), allowed),
	}
}

func review(name, group, kind string, spec map[string]any, outcome string) Case {
	body, err := json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": map[string]any{
			"uid": "10a3d6b2-" + vary, "kind": map[string]string{"group": group, "version": "v1", "kind": kind},
			"name": "x", "namespace": "llm", "operation": "CREATE", "object": map[string]any{
				"apiVersion": group + "/v1", "kind": kind, "metadata": map[string]string{"name": "x", "namespace": "llm"}, "spec": spec,
			},
		},
	})
	if err != nil {
		panic(err) // It is made of plain values; it cannot fail to encode.
	}
	return Case{Name: name, Path: "/v1/admission?timeout=10s", Body: body, Share: 1, Status: http.StatusOK, read: func(text []byte) (string, []string, error) {
		var answer struct{ Response struct{ Allowed bool } }
		if err := json.Unmarshal(text, &answer); err != nil {
			return "", nil, err
		}
		got := map[bool]string{true: allowed, false: denied}[answer.Response.Allowed]
		if got != outcome {
			return "", nil, fmt.Errorf("%s, want %s", got, outcome)
		}
		return "", nil, nil
	}}
}
