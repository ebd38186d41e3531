package environ

import (
	"errors"
	"net"
	"strconv"
)

// Engine is what the engine's own configuration says that can name it for all its ranks.
type Engine struct {
	// ID is kv_transfer.engine_id where the user set it. vLLM makes one up elsewhere, which differs between nodes.
	ID string
	// MasterAddr and MasterPort are --master-addr and --master-port of the executor mp with more than one node.
	MasterAddr string
	MasterPort int64
	// Driver is the id that Ray's driver gave the engine and its workers inherited.
	Driver string
}

// ErrNoEngineKey: neither the environment nor the configuration names the engine.
var ErrNoEngineKey = errors.New("nothing names the engine in the same way for all its ranks: set TIERGATE_ENGINE_ID " +
	"to a name that all its ranks have and no other engine does; a LeaderWorkerSet, a Slurm step, torchrun --rdzv-id, SkyPilot, " +
	"an engine_id in kv_transfer, or --master-addr would do too")

// engine takes what names the engine for all its ranks and for no other engine.
func (r *reader) engine(slurm *step) {
	key := func(prefix, name string) Text {
		if r.values[name] == "" {
			return Text{}
		}
		return Text{prefix + r.values[name], name}
	}
	candidates := []Text{
		key("", "TIERGATE_ENGINE_ID"),
		// The leader's name and namespace are what LeaderWorkerSet makes its group-key label of.
		key("lws-", "LWS_LEADER_ADDRESS"),
	}
	if slurm != nil && slurm.key != "" {
		candidates = append(candidates, Text{slurm.key, "SLURM_JOB_ID and SLURM_STEP_ID"})
	}
	if r.values["TORCHELASTIC_RUN_ID"] != "none" { // what every torchrun without --rdzv-id has
		candidates = append(candidates, key("torchrun-", "TORCHELASTIC_RUN_ID"))
	}
	candidates = append(candidates, key("skypilot-", "SKYPILOT_TASK_ID"))
	for _, c := range candidates {
		if c.Value != "" {
			r.into.Engine = c
			return
		}
	}
}

// EngineKey names an engine: what the environment gives, else what its configuration does, else ErrNoEngineKey. A gate
// appends the data-parallel rank itself.
func (e *Environment) EngineKey(c Engine) (Text, error) {
	switch {
	case e.Engine.Value != "":
		return e.Engine, nil
	case c.ID != "":
		return Text{c.ID, "kv_transfer.engine_id"}, nil
	case c.MasterAddr != "" && c.MasterPort > 0:
		return Text{net.JoinHostPort(c.MasterAddr, strconv.FormatInt(c.MasterPort, 10)), "--master-addr and --master-port"}, nil
	case c.Driver != "":
		return Text{c.Driver, "the Ray driver"}, nil
	}
	return Text{}, ErrNoEngineKey
}
