package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// planned is what a command line and an environment come to.
func planned(t *testing.T, c registerCmd, launch string, env ...string) (*registering, *v1.Engine, error) {
	t.Helper()
	if launch != "" {
		c.Launch = filepath.Join(t.TempDir(), "launch.yaml")
		require.NoError(t, os.WriteFile(c.Launch, []byte(launch), 0o600))
	}
	a := &app{env: env, stderr: new(bytes.Buffer)}
	engine, name, err := c.engine(a)
	require.NoError(t, err)
	r, err := c.plan(a, engine, name)
	return r, engine, err
}

const tieredTransfer = `{"kv_connector":"OffloadingConnector","kv_connector_extra_config":{"cpu_bytes_to_use":4096,` +
	`"secondary_tiers":[{"root_dir":"/mnt","type":"fs"}],"spec_name":"TieringOffloadingSpec"},"kv_role":"kv_both"}`

func TestRegisterPlan(t *testing.T) {
	const url = "TIERGATE_URL=http://gate"
	agent := []string{
		url, "SLURM_JOB_ID=9", "SLURM_STEP_ID=1", "SLURM_PROCID=1", "SLURM_NODEID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_NUM_NODES=2",
		"SLURM_STEP_TASKS_PER_NODE=1(x2)",
	}
	type groups = map[string][]int64
	for name, test := range map[string]struct {
		command registerCmd
		launch  string
		env     []string
		want    registering
		groups  groups // of the first rank
	}{
		"flags": {
			command: registerCmd{
				Server: "http://a", Engine: "chat", Ranks: "4-5", WorldSize: 8, Pipeline: 2, PrefillContext: 2, Deadline: time.Second,
			},
			env:    []string{url, "TIERGATE_ENGINE_ID=other", "TIERGATE_RANKS=0", "TIERGATE_WORLD_SIZE=4", "TIERGATE_DEADLINE=2s"},
			want:   registering{server: "http://a", key: "chat", engine: "chat", deadline: time.Second, world: 8, ranks: []int64{4, 5}},
			groups: groups{"tp": {4, 5}, "pp": {0, 4}, "pcp": {4, 6}},
		},
		"our variables": {
			env: []string{
				url, "TIERGATE_ENGINE_ID=chat", "TIERGATE_RANKS=2-3", "TIERGATE_WORLD_SIZE=4", "TIERGATE_DEADLINE=2s", "RANK=1",
				"WORLD_SIZE=2",
			},
			want:   registering{server: "http://gate", key: "chat", engine: "chat", deadline: 2 * time.Second, world: 4, ranks: []int64{2, 3}},
			groups: groups{"tp": {0, 1, 2, 3}},
		},
		"one task on each node": {
			command: registerCmd{Tensor: 4, Pipeline: 2}, env: agent,
			want:   registering{server: "http://gate", key: "slurm-9.1", engine: "slurm-9.1", deadline: time.Minute, world: 8, ranks: []int64{4, 5, 6, 7}},
			groups: groups{"tp": {4, 5, 6, 7}, "pp": {0, 4}},
		},
		"one task on each node, and nothing else known": {
			env:    agent,
			want:   registering{server: "http://gate", key: "slurm-9.1", engine: "slurm-9.1", deadline: time.Minute, world: 2, ranks: []int64{1}},
			groups: groups{"tp": {0, 1}},
		},
		"torchrun": {
			env:    []string{url, "RANK=3", "WORLD_SIZE=4", "LOCAL_WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=x"},
			want:   registering{server: "http://gate", key: "torchrun-x", engine: "torchrun-x", deadline: time.Minute, world: 4, ranks: []int64{3}},
			groups: groups{"tp": {0, 1, 2, 3}},
		},
		"contradictions that flags decide": {
			command: registerCmd{Engine: "chat", Ranks: "0", WorldSize: 2},
			env:     []string{url, "RANK=3", "WORLD_SIZE=four", "SLURM_STEP_ID=0", "SLURM_PROCID=9", "NODE_RANK=0", "LWS_WORKER_INDEX=1"},
			want:    registering{server: "http://gate", key: "chat", engine: "chat", deadline: time.Minute, world: 2, ranks: []int64{0}},
			groups:  groups{"tp": {0, 1}},
		},
		"groups": {
			command: registerCmd{Engine: "chat", Ranks: "1", Group: []string{"tp=0,2", "tp=1,3", "pp=0,1", "pp=3,2"}}, env: []string{url},
			want:   registering{server: "http://gate", key: "chat", engine: "chat", deadline: time.Minute, world: 4, ranks: []int64{1}},
			groups: groups{"tp": {1, 3}, "pp": {0, 1}},
		},
		"a launch on the nodes of a LeaderWorkerSet": {
			launch: `engine: {parallel: {tensor: 2, pipeline: 2}, nnodes: 2, kv_transfer: ` + tieredTransfer + `}`,
			env:    []string{url, "LWS_LEADER_ADDRESS=v-0.v.ns", "LWS_GROUP_SIZE=2", "LWS_WORKER_INDEX=0"},
			want:   registering{server: "http://gate", key: "lws-v-0.v.ns", engine: "lws-v-0.v.ns", deadline: time.Minute, world: 4, ranks: []int64{0, 1}},
			groups: groups{"tp": {0, 1}, "pp": {0, 2}},
		},
		"a replica": {
			command: registerCmd{Ranks: "0-1"},
			launch:  `engine: {id: chat, parallel: {tensor: 2, data: 2}, kv_transfer: ` + tieredTransfer + `}`,
			env:     []string{url, "VLLM_DP_RANK=1", "VLLM_DP_SIZE=2"},
			want:    registering{server: "http://gate", key: "chat", engine: "chat.dp1", deadline: time.Minute, world: 2, ranks: []int64{0, 1}},
			groups:  groups{"tp": {0, 1}},
		},
		"a replica of which nothing else is known": {
			command: registerCmd{Ranks: "0-1", WorldSize: 2, Engine: "chat"},
			env:     []string{url, "VLLM_DP_RANK=1", "VLLM_DP_SIZE=2"},
			want:    registering{server: "http://gate", key: "chat", engine: "chat.dp1", deadline: time.Minute, world: 2, ranks: []int64{0, 1}},
			groups:  groups{"tp": {0, 1}},
		},
		"an engine that its master names": {
			command: registerCmd{Ranks: "0-1"},
			launch: `engine: {command: [vllm, serve, m, -tp, "2", --nnodes, "2", --master_addr=gpu-a, --master-port, "7000", ` +
				`--kv-transfer-config, '` + tieredTransfer + `']}`,
			env:    []string{url},
			want:   registering{server: "http://gate", key: "gpu-a:7000", engine: "gpu-a:7000", deadline: time.Minute, world: 2, ranks: []int64{0, 1}},
			groups: groups{"tp": {0, 1}},
		},
		"an engine that pins its id": {
			command: registerCmd{Ranks: "0-1"},
			launch:  `engine: {parallel: {tensor: 2}, kv_transfer: {"engine_id": "pinned", ` + tieredTransfer[1:] + `}`,
			env:     []string{url},
			want:    registering{server: "http://gate", key: "pinned", engine: "pinned", deadline: time.Minute, world: 2, ranks: []int64{0, 1}},
			groups:  groups{"tp": {0, 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := planned(t, test.command, test.launch, test.env...)
			require.NoError(t, err)
			require.Len(t, got.members, len(test.want.ranks))
			for i, rank := range test.want.ranks {
				assert.Equal(t, rank, got.members[i].Rank)
				assert.Equal(t, test.want.world, got.members[i].WorldSize)
			}
			assert.Equal(t, test.groups, got.members[0].Groups)
			assert.Equal(t, strings.HasSuffix(got.engine, ".dp1"), *got.members[0].Engine.Parallel.Data == 2, "the gate appends .dp1 itself")
			got.members, got.env = nil, nil
			assert.Equal(t, test.want, *got)
		})
	}
}

// What is reported of a launch is what all its ranks have in common, whichever way it was written.
func TestRegisterReportsFields(t *testing.T) {
	const secret = `{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":{"secondary_tiers":` +
		`[{"type":"obj","store_config":{"bucket":"b","endpoint_override":"o:1","secret_key":"hunter2"}}],"spec_name":"TieringOffloadingSpec"}}`
	_, engine, err := planned(t, registerCmd{Ranks: "0", Engine: "e", Server: "http://gate"},
		`engine: {version: "0.33.0", command: [vllm, serve, m, -tp, "2", -dcp, "2", --nnodes, "2", --node-rank, "1", `+
			`--distributed-executor-backend, mp, --kv-offloading-size, "1", --kv-transfer-config, '`+secret+`']}`)
	require.NoError(t, err)
	text, err := json.Marshal(engine)
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"version": "0.33.0", "executor": "mp", "nnodes": 2,
		"parallel": {"tensor": 2, "pipeline": 1, "prefill_context": 1, "decode_context": 2, "data": 1},
		"kv_transfer": {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {
			"cpu_bytes_to_use": 1073741824, "spec_name": "TieringOffloadingSpec",
			"secondary_tiers": [{"type": "obj", "store_config": {"bucket": "b", "endpoint_override": "o:1", "secret_key": "***"}}]
		}}
	}`, string(text))
}

// Of whatever sizes: every rank is in one group of each kind with more than one member, which all its members name.
func TestRegisterGroupsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := func(name string) int64 { return rapid.Int64Range(1, 4).Draw(t, name) }
		grid, err := topology.NewGrid(size("tensor"), size("prefill_context"), size("pipeline"), 1)
		require.NoError(t, err)
		s := shape{Grid: grid}
		sizes := map[string]int64{"tp": grid.Tensor, "pcp": grid.PrefillContext, "pp": grid.Pipeline}
		for rank := range s.world() {
			for kind, want := range sizes {
				group := s.groups(rank)[kind]
				if want == 1 {
					assert.Empty(t, group)
					continue
				}
				assert.Len(t, group, int(want))
				assert.Contains(t, group, rank)
				for _, other := range group {
					assert.Equal(t, group, s.groups(other)[kind])
				}
			}
		}
	})
}
