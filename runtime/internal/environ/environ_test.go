package environ

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The environments are those that the launchers make, with what else a process has.
var (
	torchrun = []string{
		"PATH=/usr/bin", "RANK=5", "GROUP_RANK=1", "ROLE_RANK=5", "ROLE_NAME=default", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4",
		"WORLD_SIZE=8", "GROUP_WORLD_SIZE=2", "ROLE_WORLD_SIZE=8", "MASTER_ADDR=gpu-a.cluster", "MASTER_PORT=29500",
		"TORCHELASTIC_RESTART_COUNT=0", "TORCHELASTIC_MAX_RESTARTS=0", "TORCHELASTIC_RUN_ID=run-7",
		"TORCHELASTIC_USE_AGENT_STORE=True", "TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
	}
	openMPI = []string{
		"OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=4",
		"OMPI_COMM_WORLD_NODE_RANK=1", "OMPI_UNIVERSE_SIZE=8", "PMIX_RANK=5",
	}
	slurm = []string{
		"SLURM_PROCID=5", "SLURM_NTASKS=8", "SLURM_LOCALID=1", "SLURM_NODEID=1", "SLURM_NNODES=2", "SLURM_JOB_ID=81234",
		"SLURM_STEP_ID=0", "SLURM_JOB_NODELIST=gnode[10,20]", "SLURM_STEP_NODELIST=gnode[10,20]", "SLURMD_NODENAME=gnode20",
		"SLURM_TASKS_PER_NODE=4(x2)", "SLURM_STEP_NUM_TASKS=8", "SLURM_STEP_NUM_NODES=2", "SLURM_STEP_TASKS_PER_NODE=4(x2)",
	}
	// slurmAgent is srun --ntasks-per-node=1 in a job that was submitted with more tasks.
	slurmAgent = []string{
		"SLURM_PROCID=1", "SLURM_NTASKS=8", "SLURM_LOCALID=0", "SLURM_NODEID=1", "SLURM_NNODES=2", "SLURM_JOB_ID=81234",
		"SLURM_STEP_ID=3", "SLURM_TASKS_PER_NODE=4(x2)", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_NUM_NODES=2",
		"SLURM_STEP_TASKS_PER_NODE=1(x2)",
	}
	// slurmBatch is the script of sbatch itself, which is no task although it is numbered as one.
	slurmBatch = []string{
		"SLURM_PROCID=0", "SLURM_NTASKS=8", "SLURM_LOCALID=0", "SLURM_NODEID=0", "SLURM_NNODES=2", "SLURM_JOB_ID=81234",
		"SLURM_TASKS_PER_NODE=4(x2)",
	}
	lws = []string{
		"LWS_LEADER_ADDRESS=vllm-0.vllm.serving", "LWS_GROUP_SIZE=2", "LWS_WORKER_INDEX=1", "KUBERNETES_SERVICE_HOST=10.96.0.1",
	}
	skypilot = []string{
		"SKYPILOT_NODE_RANK=1", "SKYPILOT_NODE_IPS=10.0.0.4\n10.0.0.5", "SKYPILOT_NUM_NODES=2", "SKYPILOT_NUM_GPUS_PER_NODE=4",
		"SKYPILOT_TASK_ID=sky-2026-11-30-09-00-00_vllm-3",
	}
)

func join(parts ...[]string) (env []string) {
	for _, part := range parts {
		env = append(env, part...)
	}
	return env
}

func TestLaunchers(t *testing.T) {
	number := func(value int64, source string) Number { return Number{value, source} }
	for name, test := range map[string]struct {
		env  []string
		want Environment
	}{
		"nothing": {[]string{"PATH=/usr/bin", "HOSTNAME=gpu-a"}, Environment{}},
		"torchrun": {torchrun, Environment{
			Rank: number(5, "RANK"), WorldSize: number(8, "WORLD_SIZE"), launchedWorld: number(8, "WORLD_SIZE"),
			LocalRank: number(1, "LOCAL_RANK"), LocalWorldSize: number(4, "LOCAL_WORLD_SIZE"),
			NodeRank: number(1, "GROUP_RANK"), Nodes: number(2, "GROUP_WORLD_SIZE"),
			Engine: Text{"torchrun-run-7", "TORCHELASTIC_RUN_ID"}, Hosts: []Text{{"gpu-a.cluster", "MASTER_ADDR"}},
		}},
		"torchrun without --rdzv-id has no name of its own": {[]string{"RANK=0", "WORLD_SIZE=1", "TORCHELASTIC_RUN_ID=none"}, Environment{
			Rank: number(0, "RANK"), WorldSize: number(1, "WORLD_SIZE"), launchedWorld: number(1, "WORLD_SIZE"),
		}},
		"Open MPI, whose NODE_RANK is no node's": {openMPI, Environment{
			Rank:      number(5, "OMPI_COMM_WORLD_RANK"),
			WorldSize: number(8, "OMPI_COMM_WORLD_SIZE"), launchedWorld: number(8, "OMPI_COMM_WORLD_SIZE"),
			LocalRank:      number(1, "OMPI_COMM_WORLD_LOCAL_RANK"),
			LocalWorldSize: number(4, "OMPI_COMM_WORLD_LOCAL_SIZE"),
		}},
		"MPICH": {[]string{"PMI_RANK=3", "PMI_SIZE=4", "PMI_FD=9", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2"}, Environment{
			Rank: number(3, "PMI_RANK"), WorldSize: number(4, "PMI_SIZE"), launchedWorld: number(4, "PMI_SIZE"),
			LocalRank: number(1, "MPI_LOCALRANKID"), LocalWorldSize: number(2, "MPI_LOCALNRANKS"),
		}},
		"PMIx alone": {[]string{"PMIX_RANK=3"}, Environment{Rank: number(3, "PMIX_RANK")}},
		"Slurm": {slurm, Environment{
			Rank: number(5, "SLURM_PROCID"), WorldSize: number(8, "SLURM_STEP_NUM_TASKS"), launchedWorld: number(8, "SLURM_STEP_NUM_TASKS"),
			LocalRank: number(1, "SLURM_LOCALID"), LocalWorldSize: number(4, "SLURM_STEP_TASKS_PER_NODE"),
			NodeRank: number(1, "SLURM_NODEID"), Nodes: number(2, "SLURM_STEP_NUM_NODES"),
			Engine: Text{"slurm-81234.0", "SLURM_JOB_ID and SLURM_STEP_ID"},
		}},
		"Slurm, a step smaller than its job": {slurmAgent, Environment{
			Rank: number(1, "SLURM_PROCID"), WorldSize: number(2, "SLURM_STEP_NUM_TASKS"), launchedWorld: number(2, "SLURM_STEP_NUM_TASKS"),
			LocalRank: number(0, "SLURM_LOCALID"), LocalWorldSize: number(1, "SLURM_STEP_TASKS_PER_NODE"),
			NodeRank: number(1, "SLURM_NODEID"), Nodes: number(2, "SLURM_STEP_NUM_NODES"),
			Engine: Text{"slurm-81234.3", "SLURM_JOB_ID and SLURM_STEP_ID"},
		}},
		"Slurm, a batch script":                 {slurmBatch, Environment{}},
		"Slurm, a batch script with its number": {append(slurmBatch, "SLURM_STEP_ID=4294967291"), Environment{}},
		"LeaderWorkerSet": {lws, Environment{
			NodeRank: number(1, "LWS_WORKER_INDEX"), Nodes: number(2, "LWS_GROUP_SIZE"),
			Engine: Text{"lws-vllm-0.vllm.serving", "LWS_LEADER_ADDRESS"}, Hosts: []Text{{"vllm-0.vllm.serving", "LWS_LEADER_ADDRESS"}},
		}},
		"SkyPilot": {skypilot, Environment{
			NodeRank: number(1, "SKYPILOT_NODE_RANK"), Nodes: number(2, "SKYPILOT_NUM_NODES"),
			Engine: Text{"skypilot-sky-2026-11-30-09-00-00_vllm-3", "SKYPILOT_TASK_ID"}, Hosts: []Text{{"10.0.0.4", "SKYPILOT_NODE_IPS"}},
		}},
		"vLLM": {[]string{"VLLM_DP_RANK=1", "VLLM_DP_SIZE=2", "VLLM_DP_RANK_LOCAL=0", "VLLM_DP_MASTER_IP=10.0.0.4"}, Environment{
			DataParallelRank: number(1, "VLLM_DP_RANK"), DataParallelSize: number(2, "VLLM_DP_SIZE"),
		}},
		"ours": {[]string{
			"TIERGATE_ENGINE_ID=chat", "TIERGATE_URL=http://gate:8642", "TIERGATE_DEADLINE=90s", "TIERGATE_RANKS=0-2,4",
			"TIERGATE_WORLD_SIZE=8", "TIERGATE_DATA_PARALLEL_RANK=1",
		}, Environment{
			WorldSize: number(8, "TIERGATE_WORLD_SIZE"), DataParallelRank: number(1, "TIERGATE_DATA_PARALLEL_RANK"),
			Ranks: Ranks{[]int64{0, 1, 2, 4}, "TIERGATE_RANKS"}, Engine: Text{"chat", "TIERGATE_ENGINE_ID"},
			URL: Text{"http://gate:8642", "TIERGATE_URL"}, Deadline: 90 * time.Second,
		}},
		"a variable that is set twice, or to nothing": {[]string{"RANK=1", "WORLD_SIZE=", "RANK=2"}, Environment{
			Rank: number(2, "RANK"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := From(test.env)
			require.NoError(t, got.Err())
			got.Contradictions, got.Unreadable = nil, nil
			assert.Equal(t, test.want, *got)
		})
	}
}

func TestLaunchersInsideEachOther(t *testing.T) {
	for name, test := range map[string]struct {
		env    []string
		rank   Number
		nodes  Number
		node   Number
		engine string
	}{
		"torchrun in a Slurm step of as many tasks, in LeaderWorkerSet": {
			join(lws, slurm, torchrun), Number{5, "RANK"}, Number{2, "GROUP_WORLD_SIZE"}, Number{1, "SLURM_NODEID"}, "lws-vllm-0.vllm.serving",
		},
		"torchrun that Slurm started once on each node": {
			join(slurmAgent, torchrun), Number{5, "RANK"}, Number{2, "GROUP_WORLD_SIZE"}, Number{1, "SLURM_PROCID"}, "slurm-81234.3",
		},
		"torchrun in LeaderWorkerSet": {
			join(lws, torchrun), Number{5, "RANK"}, Number{2, "GROUP_WORLD_SIZE"}, Number{1, "LWS_WORKER_INDEX"}, "lws-vllm-0.vllm.serving",
		},
		"torchrun whose agents numbered themselves as they met": {
			join(lws, torchrun, []string{"GROUP_RANK=0", "RANK=1"}),
			Number{1, "RANK"},
			Number{2, "GROUP_WORLD_SIZE"},
			Number{1, "LWS_WORKER_INDEX"},
			"lws-vllm-0.vllm.serving",
		},
		"torchrun that mpirun -npernode 1 started": {
			join([]string{
				"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1",
				"PMIX_RANK=1",
			}, torchrun), Number{5, "RANK"}, Number{2, "GROUP_WORLD_SIZE"}, Number{1, "OMPI_COMM_WORLD_RANK"}, "torchrun-run-7",
		},
		"MPI in Slurm": {
			join(slurm, openMPI),
			Number{5, "OMPI_COMM_WORLD_RANK"},
			Number{2, "SLURM_STEP_NUM_NODES"},
			Number{1, "SLURM_NODEID"},
			"slurm-81234.0",
		},
		"torchrun in SkyPilot": {
			join(skypilot, torchrun), Number{5, "RANK"}, Number{2, "GROUP_WORLD_SIZE"}, Number{1, "SKYPILOT_NODE_RANK"}, "torchrun-run-7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := From(test.env)
			require.NoError(t, got.Err())
			assert.Equal(t, test.rank, got.Rank)
			assert.Equal(t, test.nodes, got.Nodes)
			assert.Equal(t, test.node, got.NodeRank)
			assert.Equal(t, test.engine, got.Engine.Value)
		})
	}
}

func TestContradictions(t *testing.T) {
	for name, test := range map[string]struct {
		env  []string
		want []string
	}{
		"ranks": {join(slurm, torchrun, []string{"RANK=4", "LOCAL_RANK=0"}), []string{
			"RANK says the rank is 4, but SLURM_PROCID says 5; unset or correct the one that is wrong",
			"LOCAL_RANK says the local rank is 0, but SLURM_LOCALID says 1; unset or correct the one that is wrong",
		}},
		"world sizes": {join(openMPI, torchrun, []string{"OMPI_COMM_WORLD_SIZE=16"}), []string{
			"WORLD_SIZE says the world size is 8, but OMPI_COMM_WORLD_SIZE says 16; unset or correct the one that is wrong",
		}},
		"nodes": {join(lws, []string{"NODE_RANK=0"}), []string{
			"NODE_RANK says the node rank is 0, but LWS_WORKER_INDEX says 1; unset or correct the one that is wrong",
		}},
		"counts of nodes": {join(lws, torchrun, []string{"LWS_GROUP_SIZE=4"}), []string{
			"GROUP_WORLD_SIZE says the number of nodes is 2, but LWS_GROUP_SIZE says 4; unset or correct the one that is wrong",
		}},
		"a rank without a size": {append(slurm, "RANK=0"), []string{
			"RANK says the rank is 0, but SLURM_PROCID says 5; unset or correct the one that is wrong",
		}},
		"a rank that we are told":     {append(join(slurm, torchrun), "RANK=4", "LOCAL_RANK=0", "TIERGATE_RANKS=4"), nil},
		"a world that we are told of": {append(join(openMPI, torchrun), "OMPI_COMM_WORLD_SIZE=16", "TIERGATE_WORLD_SIZE=8"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			e := From(test.env)
			for i := range e.Contradictions {
				got = append(got, e.Contradictions[i].Error())
			}
			assert.Equal(t, test.want, got)
			assert.Empty(t, e.Unreadable)
		})
	}
}

func TestUnreadable(t *testing.T) {
	for text, env := range map[string][]string{
		`RANK is "one", but a rank is a whole number from 0; correct it or unset it`:                                                      {"RANK=one"},
		`WORLD_SIZE is "0", but a world size is a whole number from 1; correct it or unset it`:                                            {"WORLD_SIZE=0"},
		`SLURM_PROCID is "-1", but a rank is a whole number from 0; correct it or unset it`:                                               {"SLURM_STEP_ID=0", "SLURM_PROCID=-1"},
		`RANK is "8", but a rank is 0 to 7 where WORLD_SIZE is 8; correct it or unset it`:                                                 {"RANK=8", "WORLD_SIZE=8"},
		`LWS_WORKER_INDEX is "2", but a node rank is 0 to 1 where LWS_GROUP_SIZE is 2; correct it or unset it`:                            {"LWS_WORKER_INDEX=2", "LWS_GROUP_SIZE=2"},
		`VLLM_DP_RANK is "2", but a data-parallel rank is 0 to 1 where VLLM_DP_SIZE is 2; correct it or unset it`:                         {"VLLM_DP_RANK=2", "VLLM_DP_SIZE=2"},
		`LOCAL_WORLD_SIZE is "4", but a node has 1 to 2 processes where WORLD_SIZE is 2; correct it or unset it`:                          {"LOCAL_WORLD_SIZE=4", "WORLD_SIZE=2"},
		`SLURM_TASKS_PER_NODE is "4(x)", but it is a list of counts such as 4(x2),3; correct it or unset it`:                              {"SLURM_STEP_ID=0", "SLURM_NODEID=0", "SLURM_TASKS_PER_NODE=4(x)"},
		`TIERGATE_DEADLINE is "60", but a deadline is a time such as 60s or 2m; correct it or unset it`:                                   {"TIERGATE_DEADLINE=60"},
		`TIERGATE_RANKS is "0-", but ranks are a list such as 0-3,8, in which "0-" is neither a rank nor a range; correct it or unset it`: {"TIERGATE_RANKS=0-"},
	} {
		e := From(env)
		require.EqualError(t, e.Err(), text)
		assert.Len(t, e.Unreadable, 1)
	}
}

func TestOverrule(t *testing.T) {
	env := []string{
		"RANK=x", "WORLD_SIZE=8", "SLURM_STEP_ID=0", "SLURM_NTASKS=4", "VLLM_DP_RANK=x", "TIERGATE_DEADLINE=x", "NODE_RANK=0",
		"LWS_WORKER_INDEX=1",
	}
	all := From(env)
	assert.Len(t, all.Unreadable, 3)
	assert.Len(t, all.Contradictions, 2)
	for known, left := range map[Known]int{
		{Ranks: true}: 3, {WorldSize: true}: 4, {DataParallelRank: true}: 4, {Deadline: true}: 4,
		{Ranks: true, WorldSize: true, DataParallelRank: true, Deadline: true}: 0,
	} {
		e := From(env)
		e.Overrule(known)
		assert.Equal(t, left, len(e.Unreadable)+len(e.Contradictions), "%+v", known)
	}
}

func TestEngineKey(t *testing.T) {
	configured := Engine{ID: "pinned", MasterAddr: "fd00::1", MasterPort: 29501, Driver: "b2c1"}
	for _, test := range []struct {
		env          []string
		engine       Engine
		want, source string
	}{
		{join(lws, slurm, torchrun, []string{"TIERGATE_ENGINE_ID=chat"}), configured, "chat", "TIERGATE_ENGINE_ID"},
		{join(skypilot, torchrun, slurm, lws), configured, "lws-vllm-0.vllm.serving", "LWS_LEADER_ADDRESS"},
		{join(skypilot, torchrun, slurm), configured, "slurm-81234.0", "SLURM_JOB_ID and SLURM_STEP_ID"},
		{join(skypilot, torchrun), configured, "torchrun-run-7", "TORCHELASTIC_RUN_ID"},
		{skypilot, configured, "skypilot-sky-2026-11-30-09-00-00_vllm-3", "SKYPILOT_TASK_ID"},
		{nil, configured, "pinned", "kv_transfer.engine_id"},
		{openMPI, Engine{MasterAddr: "fd00::1", MasterPort: 29501, Driver: "b2c1"}, "[fd00::1]:29501", "--master-addr and --master-port"},
		{slurmBatch, Engine{Driver: "b2c1"}, "b2c1", "the Ray driver"},
	} {
		key, err := From(test.env).EngineKey(test.engine)
		require.NoError(t, err)
		assert.Equal(t, Text{test.want, test.source}, key)
	}
	_, err := From(openMPI).EngineKey(Engine{MasterAddr: "gpu-a"})
	require.ErrorIs(t, err, ErrNoEngineKey)
}
