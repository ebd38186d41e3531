package cli

import (
	"cmp"
	"fmt"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	gate "github.com/tiergate/tiergate/runtime"
	"github.com/tiergate/tiergate/runtime/credentials"
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
	shown       credentials.Files
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
	replicas, replica, err := c.replica(&env, engine)
	if err != nil {
		return nil, err
	}
	r := &registering{world: shape.world(), env: a.env, shown: c.files(), verbose: c.Verbose}
	if r.ranks, err = c.ranks(&env, replicas, r.world); err != nil {
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
	if replicas > 1 {
		r.engine += fmt.Sprintf(".dp%d", replica) // as the gate does
	}
	r.deadline = cmp.Or(c.Deadline, env.Deadline, gate.DefaultDeadline)
	configured, parallel := *engine, v1.Parallel{Tensor: &shape.Tensor, Pipeline: &shape.Pipeline, PrefillContext: &shape.PrefillContext}
	if engine.Parallel != nil {
		parallel = *engine.Parallel
	}
	parallel.Data, configured.Parallel = &replicas, &parallel
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
