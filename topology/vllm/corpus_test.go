package vllm

import (
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// fsTier is the transfer configuration of a tiered engine as the public reports have it.
func fsTier(bytes string) string {
	return `{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":{"spec_name":` +
		`"TieringOffloadingSpec","cpu_bytes_to_use":` + bytes + `,"secondary_tiers":[{"type":"fs",` +
		`"root_dir":"/mnt/kv-cache"}]}}`
}

// TestPublishedCommands resolves commands as they stand in public reports, manifests and guides; the names are the
// issues and files that they come from.
func TestPublishedCommands(t *testing.T) {
	const tier = "OffloadingConnector/TieringOffloadingSpec*+"
	group := map[string]string{"LWS_GROUP_SIZE": "2", "LOCAL_DP": "8", "TP": "1"}
	later := []string{"LWS_WORKER_INDEX", "LWS_LEADER_ADDRESS"}
	for name, tt := range map[string]struct {
		command []string
		want    string
	}{
		"vllm 54415": {[]string{
			"vllm", "serve", "m", "--tensor-parallel-size", "2", "--nnodes", "2", "--node-rank",
			"0", "--master-addr", "gpu-a",
			"--distributed-executor-backend", "mp", "--kv-transfer-config", fsTier("4144029696"),
		}, "tp=2 nnodes=2 " +
			"executor=mp " + tier + "(4144029696)"},
		"vllm 53474, tiers": {[]string{
			"vllm", "serve", "m", "-tp", "4", "-dp", "2", "--data-parallel-size-local", "1",
			"--nnodes", "2", "--node-rank", "0",
			"--master-addr", "gpu-a", "--kv-transfer-config", fsTier("34359738368"),
		}, "tp=4 dp=2 local=1 nnodes=2 " +
			"" + tier + "(34359738368)"},
		"vllm 53474, CPU": {[]string{
			"vllm", "serve", "m", "--tensor-parallel-size=8", "--nnodes=2", "--node-rank=0",
			"--master-addr=gpu-a",
			"--kv-transfer-config", offloading(`{"cpu_bytes_to_use":68719476736}`),
		}, "tp=8 nnodes=2 " +
			"OffloadingConnector/CPUOffloadingSpec*(68719476736)"},
		"vllm 53042": {
			[]string{
				"vllm", "serve", "m", "--tensor-parallel-size", "4", "--data-parallel-size", "4",
				"--data-parallel-size-local", "1",
				"--nnodes", "4", "--node-rank", "0", "--master-addr", "node-0", "--kv-offloading-size", "200",
			},
			"tp=4 dp=4 local=1 nnodes=4 OffloadingConnector/CPUOffloadingSpec*(214748364800)",
		},
		"vllm offloading guide": {
			[]string{
				"vllm", "serve", "m", "--tensor-parallel-size", "4", "--nnodes", "2",
				"--node-rank",
				"0", "--kv-offloading-size",
				"10", "--kv-transfer-config", `{"kv_connector_extra_config":{"spec_name":"TieringOffloadingSpec",` +
					`"secondary_tiers":[{"type":"fs","root_dir":"/x"}]}}`,
			},
			"tp=4 nnodes=2 " + tier + "(10737418240)",
		},
		"vllm 17564": {[]string{
			"vllm", "serve", "m", "--tensor-parallel-size", "4", "--nnodes", "2",
			"--kv-transfer-config",
			`{"kv_connector":"MultiConnector","kv_role":"kv_both","kv_connector_extra_config":{"connectors":[{` +
				`"kv_connector":"NixlConnector","kv_role":"kv_both"},` +
				fsTier("17179869184") + `]}}`,
		}, "tp=4 nnodes=2 MultiConnector NixlConnector " + tier + "(17179869184)"},
		"vllm 43420": {
			[]string{
				"python", "-m", "vllm.entrypoints.openai.api_server", "--model", "m",
				"--tensor-parallel-size", "4", "--data-parallel-size", "2",
				"--data-parallel-backend", "ray", "--data-parallel-size-local", "1", "--distributed-executor-backend",
				"ray",
			},
			"tp=4 dp=2 local=1 dpbackend=ray executor=ray",
		},
		"vllm 48720": {[]string{
			"vllm", "serve", "m", "--tensor-parallel-size", "4", "--nnodes", "4", "--node-rank",
			"3", "--master-addr", "node-0",
			"--distributed-executor-backend=mp", "--headless",
		}, "tp=4 nnodes=4 rank=3 headless=true executor=mp"},
		"vllm 58290": {[]string{
			"vllm", "serve", "m", "--tensor_parallel_size", "8", "--nnodes", "2",
			"--node-rank", "1", "--headless",
		}, "tp=8 nnodes=2 rank=1 headless=true"},
		"vllm 62930": {[]string{
			"vllm", "serve", "m", "-tp", "2", "-pp", "2", "-n", "2", "-r", "0",
			"--kv-transfer-config", fsTier("8"),
		}, "tp=2 pp=2 nnodes=2 " + tier + "(8)"},
		"vllm 26877": {[]string{
			"vllm", "serve", "m", "-tp", "8", "-dcp", "8", "--kv-transfer-config",
			fsTier("8"),
		}, "tp=8 dcp=8 " + tier + "(8)"},
		"vllm 19448": {[]string{
			"vllm", "serve", "m", "--tensor_parallel_size", "1", "--kv-transfer-config",
			`{"kv_connector":"DynamoNixlConnector"}`,
		}, "DynamoNixlConnector"},
		"vllm 24498": {[]string{"vllm", "serve", "m", "--kv-transfer-config", offloading(`{"block_size":64,` +
			`"num_cpu_blocks":1000}`)}, "OffloadingConnector/CPUOffloadingSpec*"},
		"LMCache 4309": {[]string{
			"vllm", "serve", "m", "--kv-offloading-size", "1", "--kv-offloading-backend",
			"native",
		}, "OffloadingConnector/CPUOffloadingSpec*(1073741824)"},
		"LWS on GPUs": {[]string{"sh", "-c", "bash multi-node-serving.sh leader " +
			"--ray_cluster_size=$(LWS_GROUP_SIZE); python3 -m vllm.entrypoints.openai.api_server --port 8080 --model " +
			"m --tensor-parallel-size 8 --pipeline_parallel_size 2"}, "tp=8 pp=2"},
		"a Ray cluster": {[]string{"/bin/bash", "-c", "ray start --head && vllm serve m " +
			"--distributed-executor-backend ray --tensor-parallel-size 2 --pipeline-parallel-size 2 " +
			"--kv-transfer-config '" + fsTier("8") + "'"}, "tp=2 pp=2 executor=ray " + tier + "(8)"},
		"llm-d, tiers": {[]string{"/bin/bash", "-c", "exec vllm serve \\\n  m \\\n  --tensor-parallel-size=2 \\\n  " +
			"--kv-transfer-config '" + fsTier("8") + "'\n"}, "tp=2 " + tier + "(8)"},
		"LWS guide of vLLM": {
			[]string{"sh", "-c", "vllm serve m --tensor-parallel-size 8 --pipeline-parallel-size " +
				"$(LWS_GROUP_SIZE) --nnodes $(LWS_GROUP_SIZE) --node-rank $(LWS_WORKER_INDEX) --master-addr " +
				"$(LWS_LEADER_ADDRESS) --distributed-executor-backend mp --port 8080 --kv-transfer-config " +
				"'" + fsTier("8") + "'"},
			"tp=8 pp=2 nnodes=2 executor=mp " + tier + "(8)\nunresolved engine.node_rank: $LWS_WORKER_INDEX is set " +
				"only when the container starts",
		},
		"llm-d, wide EP": {[]string{"/bin/bash", "-c", `FIRST=$((${LWS_WORKER_INDEX:-0} * LOCAL_DP))
exec vllm serve \
  m \
  --port 8200 \
  --data-parallel-hybrid-lb \
  --enable-expert-parallel \
  --tensor-parallel-size ${TP} \
  --data-parallel-size $((LWS_GROUP_SIZE * LOCAL_DP)) \
  --data-parallel-size-local $LOCAL_DP \
  --data-parallel-address ${LWS_LEADER_ADDRESS} \
  --data-parallel-start-rank $FIRST \
  --kv_transfer_config '{"kv_connector":"NixlConnector",
                         "kv_role":"kv_both"}'
`}, "dp=16 local=8 hybrid=true NixlConnector\n" +
			"unresolved engine.data_start_rank: $((${LWS_WORKER_INDEX:-0} * LOCAL_DP)) cannot be computed: " +
			"$LWS_WORKER_INDEX is set only when the container starts"},
		"KServe's template": {
			[]string{"/bin/bash", "-c", `if [ "$RDMA" = true ]; then export NCCL_IB_DISABLE=0; fi
START=$(( ${LWS_WORKER_INDEX:-0} * 8 ))
eval "vllm serve /mnt/models --port 8000 --data-parallel-size 32 --data-parallel-size-local 8 \
  --data-parallel-start-rank $START ${TP:+-tp $TP} --headless"`},
			"dp=32 local=8 headless=true\nunresolved engine.data_start_rank: $((${LWS_WORKER_INDEX:-0} * 8)) cannot " +
				"be computed: " +
				"$LWS_WORKER_INDEX is set only when the container starts",
		},
		"quotes that a shell ate": {
			[]string{
				"vllm", "serve", "m", "--kv-transfer-config",
				"{kv_connector:OffloadingConnector," +
					"kv_role:kv_both}",
			},
			"\nunresolved engine.kv_transfer: its value cannot be read\nrefused by offload.config: " +
				"--kv-transfer-config " +
				"{kv_connector:OffloadingConnector,kv_role:kv_both}: not JSON: invalid character 'k' at start of " +
				"value, at byte 1; give the keys and texts " +
				"their double quotes back; a shell takes them away unless the whole value is in single quotes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			launch := &v1.Launch{Engine: v1.Engine{Command: tt.command, Env: group, EnvUnknown: later}}
			assert.Equal(t, tt.want, summary(resolve(t, launch)))
		})
	}
}
