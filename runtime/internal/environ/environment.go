package environ

import (
	"errors"
	"strings"
	"time"
)

// Environment is what the environment of a process says. What it does not say has no Source.
type Environment struct {
	// Rank is this process's in its engine's world of WorldSize. The local ones are among the processes of its node.
	Rank, WorldSize, LocalRank, LocalWorldSize Number
	// NodeRank is the index of this process's node or pod among Nodes.
	NodeRank, Nodes Number
	// DataParallelRank and DataParallelSize are vLLM's VLLM_DP_RANK and VLLM_DP_SIZE.
	DataParallelRank, DataParallelSize Number
	// Ranks is TIERGATE_RANKS: the ranks that one process answers for.
	Ranks Ranks
	// Engine names the engine for all its ranks: TIERGATE_ENGINE_ID, or the key of the launcher's group. See EngineKey.
	Engine Text
	// URL and Deadline are TIERGATE_URL and TIERGATE_DEADLINE; a deadline of 0 is none.
	URL      Text
	Deadline time.Duration
	// Hosts are addresses of the engine's first node, where a service may be.
	Hosts []Text

	// Contradictions are values that launchers disagree on; the higher one in precedence was taken.
	Contradictions []Contradiction
	// Unreadable are variables whose values were not taken.
	Unreadable []VariableError

	// launchedWorld is what Rank counts in, which WorldSize is not if TIERGATE_WORLD_SIZE decided that.
	launchedWorld Number
}

// Number is a value and the variable that it was taken from.
type Number struct {
	Value  int64
	Source string
}

// Known tells whether a variable gave the value.
func (n Number) Known() bool { return n.Source != "" }

// Text is a value and the variable, or variables, that it was taken from.
type Text struct{ Value, Source string }

// Ranks are ranks in ascending order and the variable, or variables, that they were taken from.
type Ranks struct {
	Value  []int64
	Source string
}

// From reads an environment, a list of NAME=value in which the last of two entries counts and an empty value is none.
func From(env []string) *Environment {
	r := &reader{values: map[string]string{}, into: &Environment{}}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		r.values[name] = value
	}
	r.own()
	r.replica()
	slurm := r.slurm()
	r.processes(slurm)
	r.engine(slurm)
	r.hosts()
	r.into.Overrule(Known{Ranks: r.into.Ranks.Source != "", WorldSize: r.into.WorldSize.Source == ownWorldSize})
	return r.into
}

// Err is nil if everything was readable and nothing contradictory. A caller that has better sources than the environment for
// a quantity looks at the two lists itself.
func (e *Environment) Err() error {
	var all []error
	for i := range e.Unreadable {
		all = append(all, &e.Unreadable[i])
	}
	for i := range e.Contradictions {
		all = append(all, &e.Contradictions[i])
	}
	return errors.Join(all...)
}

const ownWorldSize = "TIERGATE_WORLD_SIZE"

// own reads our own variables, which are decisions: what launchers say of the same is not compared with them.
func (r *reader) own() {
	e := r.into
	e.WorldSize = r.number(WorldSize, ownWorldSize, 1)
	e.DataParallelRank = r.number(DataParallelRank, "TIERGATE_DATA_PARALLEL_RANK", 0)
	if text := r.values["TIERGATE_RANKS"]; text != "" {
		ranks, err := ParseRanks(text)
		if err != nil {
			r.unreadable(Rank, "TIERGATE_RANKS", err.Error())
		} else {
			e.Ranks = Ranks{ranks, "TIERGATE_RANKS"}
		}
	}
	if text := r.values["TIERGATE_URL"]; text != "" {
		e.URL = Text{text, "TIERGATE_URL"}
	}
	if text := r.values["TIERGATE_DEADLINE"]; text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			r.unreadable(Deadline, "TIERGATE_DEADLINE", "a deadline is a time such as 60s or 2m")
		} else {
			e.Deadline = d
		}
	}
}

// replica reads which data-parallel replica this is.
func (r *reader) replica() {
	e := r.into
	e.DataParallelSize = r.number(DataParallelSize, "VLLM_DP_SIZE", 1)
	if !e.DataParallelRank.Known() {
		e.DataParallelRank = r.number(DataParallelRank, "VLLM_DP_RANK", 0)
	}
	r.below(DataParallelRank, &e.DataParallelRank, e.DataParallelSize)
}

// hosts lists where the engine's first node is. LeaderWorkerSet's is a name that resolves in the whole cluster.
func (r *reader) hosts() {
	first, _, _ := strings.Cut(r.values["SKYPILOT_NODE_IPS"], "\n")
	for _, host := range []Text{
		{r.values["LWS_LEADER_ADDRESS"], "LWS_LEADER_ADDRESS"},
		{r.values["MASTER_ADDR"], "MASTER_ADDR"},
		{strings.TrimSpace(first), "SKYPILOT_NODE_IPS"},
	} {
		if host.Value != "" {
			r.into.Hosts = append(r.into.Hosts, host)
		}
	}
}
