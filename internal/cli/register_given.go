package cli

import (
	"cmp"
	"errors"
	"fmt"

	v1 "github.com/tiergate/tiergate/api/v1"
	gate "github.com/tiergate/tiergate/runtime"
)

// ranks are those of the flag, else of the environment. The only rank needs nobody to name it.
func (c *registerCmd) ranks(env *gate.Environment, replicas, world int64) ([]int64, error) {
	if c.Ranks != "" {
		ranks, err := gate.ParseRanks(c.Ranks)
		if err != nil {
			return nil, usagef("--ranks: %s", err)
		}
		return ranks, within(ranks, world, "--ranks")
	}
	found, err := env.RanksOf(world)
	switch {
	case err != nil && world == 1:
		return []int64{0}, nil
	case err != nil:
		return nil, usagef("%s: give --ranks", err)
	case replicas > 1 && env.Ranks.Source == "":
		return nil, usagef("the engine has %d replicas, and launchers number the ranks of all of them: give --ranks, those within the "+
			"replica", replicas)
	}
	return found.Value, within(found.Value, world, found.Source)
}

func within(ranks []int64, world int64, source string) error {
	if last := ranks[len(ranks)-1]; last >= world {
		return usagef("%s: rank %d is not in a world of %d; ranks are 0 to %d", source, last, world, world-1)
	}
	return nil
}

// replica finds out how many data-parallel replicas the engine has, and which one this is. vLLM reads VLLM_DP_SIZE where
// its configuration has one replica.
func (c *registerCmd) replica(env *gate.Environment, engine *v1.Engine) (size, rank int64, err error) {
	size = max(env.DataParallelSize.Value, 1)
	if engine.Parallel != nil && *engine.Parallel.Data > 1 {
		size = *engine.Parallel.Data
	}
	rank, source := env.DataParallelRank.Value, env.DataParallelRank.Source
	if c.DataParallelRank != nil {
		rank, source = *c.DataParallelRank, "--data-parallel-rank"
	}
	switch {
	case size == 1 && rank != 0:
		return 0, 0, usagef("%s is %d, but the engine has one replica: give a --launch with more, or set VLLM_DP_SIZE", source, rank)
	case size > 1 && source == "":
		return 0, 0, usagef("the engine has %d replicas, which are registered one by one: give --data-parallel-rank", size)
	case rank < 0 || rank >= size:
		return 0, 0, usagef("%s is %d, but the engine has %d replicas: 0 to %d are allowed", source, rank, size, size-1)
	}
	return size, rank, nil
}

// address is the service. The engine's first node is only a hint: where a service listens nobody told.
func (c *registerCmd) address(env *gate.Environment) (string, error) {
	if server := cmp.Or(c.Server, env.URL.Value); server != "" {
		return server, nil
	}
	hint := "http://host:8642"
	if len(env.Hosts) > 0 {
		hint = fmt.Sprintf("http://%s:8642 if it runs on the first node (%s)", env.Hosts[0].Value, env.Hosts[0].Source)
	}
	return "", usagef("no service is named: give --server or set TIERGATE_URL, e.g. %s", hint)
}

// name is the engine's for all its replicas.
func (c *registerCmd) name(env *gate.Environment, name gate.EngineName) (string, error) {
	if c.Engine != "" {
		return c.Engine, nil
	}
	key, err := env.EngineKey(name)
	if errors.Is(err, gate.ErrNoEngineKey) {
		return "", usagef("no --engine, and %s", err)
	}
	return key.Value, err
}
