package environ

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRanksOf(t *testing.T) {
	mpiAgent := []string{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_SIZE=1"}
	for name, test := range map[string]struct {
		env   []string
		world int64
		want  Ranks
		err   string
	}{
		"a process's own":           {env: torchrun, world: 8, want: Ranks{[]int64{5}, "RANK"}},
		"of a node of Slurm":        {env: slurmAgent, world: 8, want: Ranks{[]int64{4, 5, 6, 7}, "SLURM_NODEID and SLURM_STEP_NUM_NODES"}},
		"of a pod":                  {env: lws, world: 4, want: Ranks{[]int64{2, 3}, "LWS_WORKER_INDEX and LWS_GROUP_SIZE"}},
		"of a node of SkyPilot":     {env: skypilot, world: 2, want: Ranks{[]int64{1}, "SKYPILOT_NODE_RANK and SKYPILOT_NUM_NODES"}},
		"of one process of MPI":     {env: mpiAgent, world: 4, want: Ranks{[]int64{2, 3}, "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE"}},
		"that we are told":          {env: append(lws, "TIERGATE_RANKS=1"), world: 4, want: Ranks{[]int64{1}, "TIERGATE_RANKS"}},
		"a rank without a size":     {env: []string{"PMIX_RANK=3"}, world: 4, want: Ranks{[]int64{3}, "PMIX_RANK"}},
		"one process per task":      {env: slurmAgent, world: 2, want: Ranks{[]int64{1}, "SLURM_PROCID"}},
		"nothing":                   {world: 4, err: "the environment does not say which ranks this process answers for"},
		"of a batch script":         {env: slurmBatch, world: 4, err: "the environment does not say which ranks this process answers for"},
		"nodes that cannot be even": {env: lws, world: 5, err: ": 5 ranks do not spread evenly over 2 nodes (LWS_GROUP_SIZE)"},
		"one of several on a node":  {env: slurm, world: 16, err: ": SLURM_STEP_NUM_TASKS counts 8 ranks, and the engine has 16"},
		"of another world":          {env: []string{"RANK=1", "WORLD_SIZE=2"}, world: 8, err: ": WORLD_SIZE counts 2 ranks, and the engine has 8"},
	} {
		t.Run(name, func(t *testing.T) {
			e := From(test.env)
			require.NoError(t, e.Err())
			got, err := e.RanksOf(test.world)
			if test.err != "" {
				require.ErrorIs(t, err, ErrNoRanks)
				assert.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestParseRanks(t *testing.T) {
	for text, want := range map[string][]int64{
		"0": {0}, "0-3": {0, 1, 2, 3}, "8,0-3": {0, 1, 2, 3, 8}, "2-2": {2}, "1, 3": {1, 3},
	} {
		got, err := ParseRanks(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for text, want := range map[string]string{
		"":             `in which "" is neither a rank nor a range`,
		"a":            `in which "a" is neither`,
		"-1":           `in which "-1" is neither`,
		"3-0":          `in which "3-0" is neither`,
		"0-3-5":        `in which "0-3-5" is neither`,
		"0,":           `in which "" is neither`,
		"0-1,1":        "rank 1 is listed twice",
		"0-2147483647": "one process answers for at most 8192 ranks",
	} {
		_, err := ParseRanks(text)
		require.ErrorContains(t, err, want, text)
	}
}
