package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/cli/input"
	gate "github.com/tiergate/tiergate/runtime"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/vllm"
)

// undeclared is the transfer configuration of an engine of which nobody said whether it has secondary tiers: it has one
// whose type and spec are loaded by module path, so that all that can be judged of it is where its ranks are. Ranks that
// do say what they run with differ from it, which rejects.
const undeclared = `{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":{` +
	`"spec_name":"Undeclared","spec_module_path":"tiergate.register",` +
	`"secondary_tiers":[{"type":"undeclared","module_path":"tiergate.register"}]}}`

// engine is the configuration that is reported, in fields, with what can name the engine where no launcher does. Without
// --launch it has no sizes yet.
func (c *registerCmd) engine(a *app) (*v1.Engine, gate.EngineName, error) {
	if c.Launch == "" {
		return &v1.Engine{KVTransfer: json.RawMessage(undeclared)}, gate.EngineName{}, nil
	}
	launch, err := c.readLaunch(a)
	if err != nil {
		return nil, gate.EngineName{}, err
	}
	resolved, err := vllm.Resolve(launch)
	if err != nil {
		return nil, gate.EngineName{}, fmt.Errorf("--launch %s: %w", c.Launch, err)
	}
	if err := startable(resolved); err != nil {
		return nil, gate.EngineName{}, usagef("--launch %s: %s", c.Launch, err)
	}
	engine := fields(resolved)
	if reason := unresolved(resolved, topology.SettingTransfer); reason != "" {
		fmt.Fprintf(a.stderr, "tiergate register: kv_transfer is not known here (%s): taken as secondary tiers\n", reason)
		engine.KVTransfer = json.RawMessage(undeclared)
	}
	return engine, engineName(launch, resolved), nil
}

func (c *registerCmd) readLaunch(a *app) (*v1.Launch, error) {
	inputs := input.Files([]string{c.Launch}, a.stdin)
	switch in := inputs[0]; {
	case len(inputs) > 1:
		var sources []string
		for _, in := range inputs {
			sources = append(sources, in.Source)
		}
		return nil, usagef("--launch %s holds %d engines (%s); one is registered: put it into a file of its own",
			c.Launch, len(inputs), strings.Join(sources, ", "))
	case in.Err != nil:
		return nil, fmt.Errorf("--launch %s: %w", c.Launch, in.Err)
	default:
		return in.Launch, nil
	}
}

// startable refuses a launch that vLLM would refuse, or whose sizes only the running engine knows.
func startable(e *topology.Engine) error {
	for _, r := range e.Refusals {
		return fmt.Errorf("vLLM refuses %s %s: %s; %s", r.Setting, r.Value, r.Reason, r.Fix)
	}
	for _, setting := range []string{
		topology.SettingTensor, topology.SettingPipeline, topology.SettingPrefillContext, topology.SettingDecodeContext,
		topology.SettingData,
	} {
		if reason := unresolved(e, setting); reason != "" {
			return fmt.Errorf("%s is not known here: %s; write it as a number", setting, reason)
		}
	}
	if e.Tensor < 1 || e.Pipeline < 1 || e.PrefillContext < 1 || e.Data < 1 {
		return fmt.Errorf("tensor %d, pipeline %d, prefill_context %d and data %d must be 1 or more", e.Tensor, e.Pipeline,
			e.PrefillContext, e.Data)
	}
	return nil
}

func unresolved(e *topology.Engine, setting string) string {
	for _, u := range e.Unresolved {
		if u.Setting == setting {
			return u.Reason
		}
	}
	return ""
}

// fields are the settings that all ranks must agree on.
func fields(e *topology.Engine) *v1.Engine {
	engine := &v1.Engine{
		ID: e.ID, Version: e.Version,
		Parallel: &v1.Parallel{
			Tensor: &e.Tensor, Pipeline: &e.Pipeline, PrefillContext: &e.PrefillContext, DecodeContext: &e.DecodeContext,
			Data: &e.Data, DataLocal: e.DataLocal,
		},
	}
	if e.ExecutorGiven && unresolved(e, topology.SettingExecutor) == "" {
		engine.Executor = e.Executor
	}
	if unresolved(e, topology.SettingNnodes) == "" {
		engine.Nnodes = &e.Nnodes
	}
	if len(e.Transfer.Connectors) > 0 {
		engine.KVTransfer = e.Transfer.Connectors[0].Config // the whole of it, with credentials masked
	}
	return engine
}

// defaultMasterPort is that of vLLM's --master-port.
const defaultMasterPort = 29501

// engineName is what in a launch names the engine for all its ranks.
func engineName(launch *v1.Launch, e *topology.Engine) gate.EngineName {
	name := gate.EngineName{ID: e.ID}
	if e.Nnodes < 2 || e.Executor != "mp" {
		return name
	}
	name.MasterAddr, name.MasterPort = argument(launch.Engine.Command, "--master-addr"), defaultMasterPort
	if text := argument(launch.Engine.Command, "--master-port"); text != "" {
		name.MasterPort, _ = strconv.ParseInt(text, 10, 64) // 0 names nothing
	}
	return name
}

// argument is the last value of a flag as vLLM's parser takes it; empty where it is not there, or only a shell knows it.
func argument(command []string, flag string) (value string) {
	for i, word := range command {
		name, joined, isJoined := strings.Cut(word, "=")
		switch {
		case strings.ReplaceAll(name, "_", "-") != flag:
		case isJoined:
			value = joined
		case i+1 < len(command):
			value = command[i+1]
		}
	}
	if strings.ContainsAny(value, "$`") {
		return ""
	}
	return value
}
