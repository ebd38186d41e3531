package cli

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	gate "github.com/tiergate/tiergate/runtime"
)

// registering is what one process registers.
type registering struct {
	server string
	// key names all replicas of the engine, engine this one.
	key, engine string
	deadline    time.Duration
	world       int64
	ranks       []int64
	members     []gate.Membership
	env         []string
	verbose     bool
}

// plan puts flags, the launch and the environment together, in this order of precedence. Errors are *usageError.
func (c *registerCmd) plan(a *app, engine *v1.Engine, name gate.EngineName) (*registering, error) {
	env, _ := gate.FromEnvironment(a.env) // the error lists what c.settled sorts out
	if err := c.settled(&env); err != nil {
		return nil, err
	}
	shape, err := c.shape(engine, &env)
	if err != nil {
		return nil, err
	}
	r := &registering{world: shape.world(), env: a.env, verbose: c.Verbose}
	if r.ranks, err = c.ranks(&env, engine, r.world); err != nil {
		return nil, err
	}
	replica, err := c.replica(&env, engine)
	if err != nil {
		return nil, err
	}
	// Without a need for a gate there need be no service and no name either.
	gated := v1.NeedsGate(engine) && r.world > 1
	if r.server, err = c.address(&env); err != nil && gated {
		return nil, err
	}
	if r.key, err = c.name(&env, name); err != nil && gated {
		return nil, err
	}
	r.engine = r.key
	if engine.Parallel != nil && *engine.Parallel.Data > 1 {
		r.engine += fmt.Sprintf(".dp%d", replica) // as the gate does
	}
	r.deadline = cmp.Or(c.Deadline, env.Deadline, gate.DefaultDeadline)
	configured := *engine
	if configured.Parallel == nil {
		configured.Parallel = &v1.Parallel{Tensor: &shape.Tensor, Pipeline: &shape.Pipeline, PrefillContext: &shape.PrefillContext}
	}
	for _, rank := range r.ranks {
		if err := shape.check(rank); err != nil {
			return nil, err
		}
		r.members = append(r.members, gate.Membership{
			Rank: rank, WorldSize: r.world, DataParallelRank: replica, Groups: shape.groups(rank), Engine: configured,
		})
	}
	return r, nil
}

// settled refuses to choose where variables contradict each other, or cannot be read, unless a flag decides.
func (c *registerCmd) settled(env *gate.Environment) error {
	env.Overrule(gate.Known{
		Ranks: c.Ranks != "", WorldSize: c.WorldSize != 0 || c.Ranks != "" && c.sized(),
		DataParallelRank: c.DataParallelRank != nil, Deadline: c.Deadline != 0,
	})
	if err := env.Err(); err != nil {
		return usagef("%s", fmt.Errorf("%w\nor give --ranks and --world-size, which decide", err))
	}
	return nil
}

// sized tells whether the world size follows from sizes.
func (c *registerCmd) sized() bool { return c.Launch != "" || c.Tensor != 0 || len(c.Group) > 0 }

func (c *registerCmd) ranks(env *gate.Environment, engine *v1.Engine, world int64) ([]int64, error) {
	if c.Ranks != "" {
		ranks, err := gate.ParseRanks(c.Ranks)
		if err != nil {
			return nil, usagef("--ranks: %s", err)
		}
		return ranks, within(ranks, world, "--ranks")
	}
	found, err := env.RanksOf(world)
	switch {
	case err != nil:
		return nil, usagef("%s: give --ranks", err)
	case engine.Parallel != nil && *engine.Parallel.Data > 1 && env.Ranks.Source == "":
		return nil, usagef("the launch has %d replicas, and launchers number the ranks of all of them: give --ranks, those within the "+
			"replica", *engine.Parallel.Data)
	}
	return found.Value, within(found.Value, world, found.Source)
}

func within(ranks []int64, world int64, source string) error {
	if last := ranks[len(ranks)-1]; last >= world {
		return usagef("%s: rank %d is not in a world of %d; ranks are 0 to %d", source, last, world, world-1)
	}
	return nil
}

// replica is the data-parallel rank of an engine with several replicas.
func (c *registerCmd) replica(env *gate.Environment, engine *v1.Engine) (int64, error) {
	if engine.Parallel == nil || *engine.Parallel.Data == 1 {
		if c.DataParallelRank != nil && *c.DataParallelRank != 0 {
			return 0, usagef("--data-parallel-rank is for a --launch with several replicas")
		}
		return 0, nil
	}
	size, rank, source := *engine.Parallel.Data, env.DataParallelRank.Value, env.DataParallelRank.Source
	if c.DataParallelRank != nil {
		rank, source = *c.DataParallelRank, "--data-parallel-rank"
	}
	switch {
	case source == "":
		return 0, usagef("the launch has %d replicas, which are registered one by one: give --data-parallel-rank", size)
	case rank < 0 || rank >= size:
		return 0, usagef("%s is %d, but the launch has %d replicas: 0 to %d are allowed", source, rank, size, size-1)
	}
	return rank, nil
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
