package kube

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tiergate/tiergate/topology/document"
)

// serveConfig is the part of a Ray Serve configuration that describes engines of Ray's own LLM applications.
type serveConfig struct {
	Applications []struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"applications"`
}

// llmApplication is the arguments of ray.serve.llm:build_openai_app and of its variant with prefill and decode apart.
type llmApplication struct {
	Configs []json.RawMessage `json:"llm_configs"`
	Prefill json.RawMessage   `json:"prefill_config"`
	Decode  json.RawMessage   `json:"decode_config"`
}

type llmConfig struct {
	Engine string `json:"llm_engine"`
	Model  struct {
		ID string `json:"model_id"`
	} `json:"model_loading_config"`
	Kwargs     map[string]json.RawMessage `json:"engine_kwargs"`
	RuntimeEnv struct {
		Vars map[string]string `json:"env_vars"`
	} `json:"runtime_env"`
}

// serveApplications reads the engines of a RayService. Applications of other shapes are passed over: what their code
// does is not in the manifest.
func (r *reader) serveApplications(g *group, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var config serveConfig
	parsed, err := document.FromYAML([]byte(text))
	if err == nil {
		err = parsed.Extract(&config)
	}
	if err != nil {
		return r.fail(CodeInvalidEngine, err, "serveConfigV2: %v", err)
	}
	for _, application := range config.Applications {
		var llm llmApplication
		if json.Unmarshal(application.Args, &llm) != nil {
			continue
		}
		for _, raw := range append(llm.Configs, llm.Prefill, llm.Decode) {
			if err := r.llmConfig(g, application.Name, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

// llmConfig reads one engine. Ray passes engine_kwargs to vLLM as the flags of the same names, and its own executor.
func (r *reader) llmConfig(g *group, application string, raw json.RawMessage) error {
	var config llmConfig
	if len(raw) == 0 || json.Unmarshal(raw, &config) != nil || config.Kwargs == nil && config.Model.ID == "" {
		return nil
	}
	if config.Engine != "" && !strings.EqualFold(config.Engine, "vllm") {
		return nil
	}
	command := append([]string{"vllm", "serve", config.Model.ID}, flags(config.Kwargs)...)
	if _, given := config.Kwargs["distributed_executor_backend"]; !given {
		command = append(command, "--distributed-executor-backend", "ray")
	}
	where := "application " + application + ", model " + config.Model.ID
	return r.onCluster(g, g.accelerated(), where, command, literal(config.RuntimeEnv.Vars))
}

// accelerated is the first run of pods with accelerators, where Ray puts what asks for them; else the head.
func (g *group) accelerated() int {
	return max(slices.IndexFunc(g.runs, func(run run) bool {
		count := run.template.Spec.working().Resources.accelerators()
		return run.count > 0 && count != nil && *count > 0
	}), 0)
}

// flags writes keyword arguments as vLLM's command line would have them, in the order of their names.
func flags(kwargs map[string]json.RawMessage) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(kwargs)) {
		flag, text := "--"+strings.ReplaceAll(name, "_", "-"), string(kwargs[name])
		var quoted string
		switch {
		case text == "null":
		case text == "true":
			list = append(list, flag)
		case text == "false":
			list = append(list, "--no-"+flag[len("--"):])
		case json.Unmarshal(kwargs[name], &quoted) == nil:
			list = append(list, flag+"="+quoted)
		default:
			list = append(list, flag+"="+text)
		}
	}
	return list
}

// runtimeEnv reads the variables of a Ray runtime environment.
func runtimeEnv(text string) ([]envVar, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var env struct {
		Vars map[string]string `json:"env_vars"`
	}
	parsed, err := document.FromYAML([]byte(text))
	if err != nil {
		return nil, err
	}
	if err := parsed.Extract(&env); err != nil {
		return nil, err
	}
	return literal(env.Vars), nil
}

// literal makes variables whose dollar signs mean nothing.
func literal(vars map[string]string) []envVar {
	list := make([]envVar, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, envVar{Name: name, Value: strings.ReplaceAll(vars[name], "$", "$$")})
	}
	return list
}
