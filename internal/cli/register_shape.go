package cli

import (
	"cmp"
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
	gate "github.com/tiergate/tiergate/runtime"
	"github.com/tiergate/tiergate/topology"
)

// shape is the grid of a replica, with its groups where they were given one by one.
type shape struct {
	topology.Grid
	given map[string][][]int64
}

func (s *shape) world() int64 { return s.Replica() }

// kinds are the groups whose ranks must share memory.
var registeredKinds = []string{topology.TP, topology.PP, topology.PCP}

// groups are those of one rank with more than one member.
func (s *shape) groups(rank int64) map[string][]int64 {
	groups := map[string][]int64{}
	for _, kind := range registeredKinds {
		if lines := s.Lines(kind); s.given == nil && lines.Size > 1 {
			groups[kind] = lines.Append(nil, lines.GroupOf(rank))
		}
		for _, group := range s.given[kind] {
			if slices.Contains(group, rank) {
				groups[kind] = group
			}
		}
	}
	return groups
}

// shape finds the grid: from --group, from the launch, or from sizes and the world size.
func (c *registerCmd) shape(engine *v1.Engine, env *gate.Environment) (*shape, error) {
	for _, size := range []struct {
		flag  string
		value int64
	}{{"world-size", c.WorldSize}, {"tensor", c.Tensor}, {"pipeline", c.Pipeline}, {"prefill-context", c.PrefillContext}} {
		if size.value < 0 {
			return nil, usagef("--%s %d: 1 or more is allowed", size.flag, size.value)
		}
	}
	var s *shape
	var err error
	if len(c.Group) > 0 {
		s, err = c.grouped()
	} else {
		s, err = c.sizes(engine, env)
	}
	if err != nil {
		return nil, err
	}
	return s, c.fits(s, engine, env)
}

// sizes takes the grid of the launch, or that of the flags. Of flags the tensor-parallel size is what the others leave of
// the world size: without any, all ranks are one group, which is the most that can be asked of them.
func (c *registerCmd) sizes(engine *v1.Engine, env *gate.Environment) (*shape, error) {
	tensor, pipeline, prefill := c.Tensor, cmp.Or(c.Pipeline, 1), cmp.Or(c.PrefillContext, 1)
	if p := engine.Parallel; p != nil {
		for _, flag := range []struct {
			name         string
			given, known int64
		}{
			{"tensor", c.Tensor, *p.Tensor},
			{"pipeline", c.Pipeline, *p.Pipeline},
			{"prefill-context", c.PrefillContext, *p.PrefillContext},
		} {
			if flag.given != 0 && flag.given != flag.known {
				return nil, usagef("--%s is %d, but %d by --launch; leave the flag out or correct the launch", flag.name, flag.given,
					flag.known)
			}
		}
		tensor, pipeline, prefill = *p.Tensor, *p.Pipeline, *p.PrefillContext
	}
	if tensor == 0 {
		world := cmp.Or(c.WorldSize, env.WorldSize.Value)
		switch {
		case world == 0:
			return nil, usagef("how many ranks are there? Give --world-size, or --launch")
		case world%(pipeline*prefill) != 0:
			return nil, usagef("a world of %d ranks is no multiple of pipeline %d x prefill-context %d", world, pipeline, prefill)
		}
		tensor = world / pipeline / prefill
	}
	grid, err := topology.NewGrid(tensor, prefill, pipeline, 1)
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	return &shape{Grid: grid}, nil
}

// fits compares the grid with the world size that somebody decided; what launchers count may be other processes.
func (c *registerCmd) fits(s *shape, engine *v1.Engine, env *gate.Environment) error {
	world, source := c.WorldSize, "--world-size"
	if world == 0 && env.WorldSize.Source == "TIERGATE_WORLD_SIZE" {
		world, source = env.WorldSize.Value, env.WorldSize.Source
	}
	if world != 0 && world != s.world() {
		return usagef("tensor %d x pipeline %d x prefill-context %d is %d ranks, but %s is %d", s.Tensor, s.Pipeline, s.PrefillContext,
			s.world(), source, world)
	}
	p := engine.Parallel
	if p != nil && (*p.Tensor != s.Tensor || *p.Pipeline != s.Pipeline || *p.PrefillContext != s.PrefillContext) {
		return usagef("--group makes tensor %d x pipeline %d x prefill-context %d, but --launch is %d x %d x %d", s.Tensor, s.Pipeline,
			s.PrefillContext, *p.Tensor, *p.Pipeline, *p.PrefillContext)
	}
	return nil
}
