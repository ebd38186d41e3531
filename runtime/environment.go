package runtime

import "github.com/tiergate/tiergate/runtime/internal/environ"

// Environment is what launchers say of a process in its environment: its rank, the world size, its node, the engine's key,
// each with the variable that says so. It covers TIERGATE_*, vLLM's VLLM_DP_*, torchrun, MPI, Slurm, LeaderWorkerSet and
// SkyPilot, in this order of precedence.
type (
	Environment = environ.Environment
	// Number, Text and Ranks are values with the variables that they were taken from.
	Number = environ.Number
	Text   = environ.Text
	Ranks  = environ.Ranks
	// EngineName is what an engine's configuration says that can name it where no launcher does.
	EngineName = environ.Engine
	// Known are quantities that a caller of Environment.Overrule knows better.
	Known = environ.Known
	// Contradiction and VariableError are what is wrong with an environment.
	Contradiction = environ.Contradiction
	VariableError = environ.VariableError
)

// ErrNoEngineKey and ErrNoRanks: the environment does not say; it is never guessed.
var (
	ErrNoEngineKey = environ.ErrNoEngineKey
	ErrNoRanks     = environ.ErrNoRanks
)

// FromEnvironment reads an environment, a list of NAME=value. The error names every variable that cannot be read and every two
// that contradict each other; the Environment holds what was taken nevertheless, for a caller who knows better.
func FromEnvironment(env []string) (Environment, error) {
	e := environ.From(env)
	return *e, e.Err()
}

// ParseRanks reads a list of ranks such as 0-3,8.
func ParseRanks(text string) ([]int64, error) { return environ.ParseRanks(text) }
