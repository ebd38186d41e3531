// Package environ reads what launchers put into a process's environment: which ranks it is, how many there are, which
// node it is on, what its engine is called and where a service may be. It owns the names of those variables and their
// precedence. It must not choose between launchers that contradict each other (it takes one and says so), look at anything
// but the environment that it is given, or guess a name for an engine.
//
// In order: our own TIERGATE_*, vLLM's VLLM_DP_*, torchrun, MPI, Slurm, LeaderWorkerSet, SkyPilot. The first four of these
// and Slurm number processes; LeaderWorkerSet and SkyPilot number pods or nodes only, and so does a launcher that started
// one process on each node, which then started torchrun.
package environ
