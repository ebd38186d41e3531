package cli

import (
	"context"
	"fmt"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

type registerCmd struct {
	credentialFlags
	Server           string        `env:"-" placeholder:"URL" help:"The service that all ranks ask: http://, https:// or unix:// (TIERGATE_URL)."`
	Engine           string        `env:"-" placeholder:"ID" help:"The engine's name, the same for all its ranks (TIERGATE_ENGINE_ID)."`
	Ranks            string        `env:"-" placeholder:"0-3,8" help:"The ranks that this process answers for, within the replica (TIERGATE_RANKS)."`
	WorldSize        int64         `env:"-" placeholder:"N" help:"All ranks of the replica (TIERGATE_WORLD_SIZE)."`
	DataParallelRank *int64        `env:"-" placeholder:"N" help:"Which replica of --launch this is (TIERGATE_DATA_PARALLEL_RANK)."`
	Launch           string        `placeholder:"FILE" help:"Take the engine's configuration from this launch or manifest; - is standard input."`
	Tensor           int64         `placeholder:"N" help:"Tensor-parallel size. By default what the other sizes leave of the world size."`
	Pipeline         int64         `placeholder:"N" help:"Pipeline-parallel size. By default 1."`
	PrefillContext   int64         `placeholder:"N" help:"Prefill-context-parallel size. By default 1."`
	Group            []string      `env:"-" sep:"none" placeholder:"tp=0,1" help:"A group of the kind tp, pp or pcp, instead of sizes; repeatable."`
	Deadline         time.Duration `env:"-" placeholder:"60s" help:"How long the registration may take, 1s to 1h (TIERGATE_DEADLINE)."`
	Verbose          bool          `short:"v" env:"-" help:"Log every step."`
}

// Help is shown by --help.
func (registerCmd) Help() string {
	return `Reports ranks to a service, proves that they share memory as the engine's secondary KV tiers need it, waits for the
answer that all ranks of the engine get, and then becomes the command behind --:

    tiergate register --server http://gpu-a:8642 --engine chat --ranks 0-3 --world-size 8 --launch launch.yaml \
      -- vllm serve model-x -tp 8 --nnodes 2 ...

The command runs in this process, with its environment: its exit status and the signals it gets are its own. Without a
command the answer is the exit status.

What no flag says is taken from TIERGATE_* variables, and then from those of vLLM, torchrun, MPI, Slurm, LeaderWorkerSet
and SkyPilot. Where they contradict each other the command refuses to choose: give the flag.

Without --launch nobody knows whether the engine has secondary tiers, so it is registered as one that has: its ranks must
share one /dev/shm, and no other setting of it is judged. With --launch an engine without tiers starts at once, also when
no service is there.

The answer holds for this moment and these processes. It does not replace the gate inside the engine.

Exit status: 0 allowed, 1 rejected, 2 usage or unreadable input, 4 no answer (timed out, revoked, superseded, duplicate
rank, service unreachable), 5 internal error, 128 and the signal's number where a signal ended the wait.`
}

// Run registers, and then becomes the command.
func (c *registerCmd) Run(ctx context.Context, a *app) error {
	program, err := a.program()
	if err != nil {
		return err
	}
	engine, name, err := c.engine(a)
	if err != nil {
		return err
	}
	r, err := c.plan(a, engine, name)
	if why := needless(engine, r); why != "" {
		fmt.Fprintf(a.stderr, "tiergate register: %s: nothing to admit\n", why)
		if err == nil { // else a start is not held up by what only a report would need
			r.mention(ctx)
		}
		return a.become(ctx, program)
	}
	if err != nil {
		return err
	}
	if err := r.admit(ctx, a); err != nil {
		return err
	}
	return a.become(ctx, program)
}

// needless says why an engine needs no admission; empty where it does. What is registered is nil where that is not known.
func needless(engine *v1.Engine, r *registering) string {
	p := engine.Parallel
	switch {
	case r != nil && r.world == 1, p != nil && *p.Tensor == 1 && *p.Pipeline == 1 && *p.PrefillContext == 1:
		return "one worker"
	case !v1.NeedsGate(engine):
		return "no secondary tiers"
	}
	return ""
}
