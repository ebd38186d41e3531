package kube

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// mainContainer is the container that the presets complete.
const mainContainer = "main"

// preset gives the main container the command of KServe's presets where it has none of its own.
func (w *llmWorkload) preset(spec *podSpec) {
	at := slices.IndexFunc(spec.Containers, func(c container) bool { return c.Name == mainContainer })
	if at < 0 {
		spec.Containers = append(slices.Clone(spec.Containers), container{Name: mainContainer})
		at = len(spec.Containers) - 1
	}
	c := &spec.Containers[at]
	if len(c.Command) > 0 {
		return
	}
	// The presets evaluate the line again, so that quotes inside the variables count.
	line := "exec vllm serve /mnt/models" + w.flags() + " ${KV_TRANSFER_ARGS} ${VLLM_ADDITIONAL_ARGS} $@"
	c.Args = slices.Clone(c.Args)
	for i, arg := range c.Args {
		// Older presets pass the arguments on as they are. JSON was then written for them: evaluated, it would lose its
		// quotes.
		if strings.HasPrefix(arg, "{") && json.Valid([]byte(arg)) {
			c.Args[i] = shellQuote(arg)
		}
	}
	c.Command = []string{"/bin/bash", "-c", "KV_TRANSFER_ARGS=" + w.offloading(c) + "\n" + `eval "` + line + `"`, "--"}
}

// flags are those that the presets write for the parallelism.
func (w *llmWorkload) flags() string {
	p := w.Parallelism
	if p == nil {
		return ""
	}
	var text strings.Builder
	if p.Tensor != nil {
		fmt.Fprintf(&text, " --tensor-parallel-size %d", *p.Tensor)
	}
	switch {
	case p.isData():
		local := orOne(p.DataLocal)
		fmt.Fprintf(&text, " --data-parallel-size %d --data-parallel-size-local %d", orOne(p.Data), local)
		fmt.Fprintf(&text, " --data-parallel-start-rank $((${LWS_WORKER_INDEX:-0} * %d))", local)
	case p.Pipeline != nil:
		fmt.Fprintf(&text, " --pipeline-parallel-size %d", *p.Pipeline)
		if w.Worker != nil {
			fmt.Fprintf(&text, " --nnodes %d --node-rank ${LWS_WORKER_INDEX:-0}", *p.Pipeline)
		}
	}
	if p.Expert {
		text.WriteString(" --enable-expert-parallel")
	}
	return text.String()
}

// offloading is the value of KV_TRANSFER_ARGS as a shell word. A --kv-transfer-config of the user's own replaces it.
func (w *llmWorkload) offloading(c *container) string {
	kv := w.Offloading
	if kv == nil || c.configuresTransfer() {
		return ""
	}
	extra := map[string]any{"spec_name": "CPUOffloadingSpec", "cpu_bytes_to_use": int64(kv.CPU)}
	if kv.EvictionPolicy != "" {
		extra["eviction_policy"] = kv.EvictionPolicy
	}
	var tiers []map[string]string
	for i, tier := range kv.Secondary {
		if tier.FileSystem == nil {
			// A kind of tier that is newer than this code: its configuration is unknown, as that of an unset variable is.
			return shellQuote("--kv-transfer-config ${KSERVE_KV_TRANSFER_CONFIG}")
		}
		tiers = append(tiers, map[string]string{"type": "fs", "root_dir": fmt.Sprintf("/mnt/kv-cache-%d", i)})
	}
	if tiers != nil {
		extra["spec_name"], extra["secondary_tiers"] = "TieringOffloadingSpec", tiers
	}
	// Strings and numbers can always be written.
	config, _ := json.Marshal(map[string]any{
		"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra,
	})
	return shellQuote("--kv-transfer-config " + shellQuote(string(config)))
}

func (c *container) configuresTransfer() bool {
	texts := slices.Clone(c.Args)
	for _, v := range c.Env {
		if v.Name == "VLLM_ADDITIONAL_ARGS" {
			texts = append(texts, v.Value)
		}
	}
	return strings.Contains(strings.ReplaceAll(strings.Join(texts, " "), "_", "-"), "--kv-transfer-config")
}

func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
