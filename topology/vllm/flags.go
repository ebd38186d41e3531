package vllm

import (
	"slices"
	"strings"

	"github.com/tiergate/tiergate/topology"
)

// flagID numbers the flags that change a verdict.
type flagID int

const (
	flagTensor flagID = iota
	flagPipeline
	flagPrefillContext
	flagDecodeContext
	flagData
	flagDataLocal
	flagDataRank
	flagDataStartRank
	flagDataBackend
	flagHybridLB
	flagExternalLB
	flagNnodes
	flagNodeRank
	flagExecutor
	flagHeadless
	flagTransfer
	flagOffloadingSize
	flagOffloadingBackend
	flagConfig
	flagCount
	// flagAmbiguous is an abbreviation of several flags.
	flagAmbiguous flagID = -1
	flagUnknown   flagID = -2
)

// flag is one flag of vLLM's command line. vLLM builds its parser on Python's argparse with abbreviations allowed, so
// that a flag may be cut down to any prefix that no other flag of vLLM's shares; unique is the shortest one, of the
// long name and of the alias, in vLLM 0.33.0. Where it equals the name, there is no abbreviation.
type flag struct {
	name, unique   string
	alias, unalias string
	kind           valueKind
	// setting is what becomes unresolved with the flag's value. check reports a value that vLLM would not read;
	// empty means parallel.config.
	setting, check string
	// negative tells a boolean flag that is also written --no-name.
	negative bool
}

// valueKind is what vLLM makes of a flag's value.
type valueKind int

const (
	_ valueKind = iota // words, which are kept as they are
	// boolean flags take no value.
	boolean
	integer
	gibibytes
	// backend is one of offloadingBackends.
	backend
)

var flags = [flagCount]flag{
	flagTensor: {
		name: "--tensor-parallel-size", unique: "--te", alias: "-tp", unalias: "-t",
		setting: topology.SettingTensor, kind: integer,
	},
	flagPipeline: {
		name: "--pipeline-parallel-size", unique: "--pi", alias: "-pp", unalias: "-pp",
		setting: topology.SettingPipeline, kind: integer,
	},
	flagPrefillContext: {
		name: "--prefill-context-parallel-size", unique: "--prefill-c", alias: "-pcp", unalias: "-pc",
		setting: topology.SettingPrefillContext, kind: integer,
	},
	flagDecodeContext: {
		name: "--decode-context-parallel-size", unique: "--dec", alias: "-dcp", unalias: "-dcp",
		setting: topology.SettingDecodeContext, kind: integer,
	},
	flagData: {
		name: "--data-parallel-size", unique: "--data-parallel-size", alias: "-dp", unalias: "-dp",
		setting: topology.SettingData, kind: integer,
	},
	flagDataLocal: {
		name: "--data-parallel-size-local", unique: "--data-parallel-size-", alias: "-dpl", unalias: "-dpl",
		setting: topology.SettingDataLocal, kind: integer,
	},
	flagDataRank: {
		name: "--data-parallel-rank", unique: "--data-parallel-ra", alias: "-dpn", unalias: "-dpn",
		setting: topology.SettingDataRank, kind: integer,
	},
	flagDataStartRank: {
		name: "--data-parallel-start-rank", unique: "--data-parallel-st", alias: "-dpr",
		unalias: "-dpr", setting: topology.SettingDataStartRank, kind: integer,
	},
	// With an unknown backend it is the placement that is unknown, as it is with an unknown number of local replicas.
	flagDataBackend: {
		name: "--data-parallel-backend", unique: "--data-parallel-b", alias: "-dpb", unalias: "-dpb",
		setting: topology.SettingDataLocal,
	},
	flagHybridLB: {
		name: "--data-parallel-hybrid-lb", unique: "--data-parallel-h", alias: "-dph", unalias: "-dph",
		kind: boolean, negative: true,
	},
	flagExternalLB: {
		name: "--data-parallel-external-lb", unique: "--data-parallel-e", alias: "-dpe", unalias: "-dpe",
		kind: boolean, negative: true,
	},
	flagNnodes: {
		name: "--nnodes", unique: "--nn", alias: "-n", unalias: "-n",
		setting: topology.SettingNnodes, kind: integer,
	},
	flagNodeRank: {
		name: "--node-rank", unique: "--nod", alias: "-r", unalias: "-r",
		setting: topology.SettingNodeRank, kind: integer,
	},
	flagExecutor: {
		name: "--distributed-executor-backend", unique: "--distributed-e",
		setting: topology.SettingExecutor,
	},
	flagHeadless: {name: "--headless", unique: "--hea", kind: boolean},
	flagTransfer: {
		name: "--kv-transfer-config", unique: "--kv-t",
		setting: topology.SettingTransfer,
	},
	flagOffloadingSize: {
		name: "--kv-offloading-size", unique: "--kv-offloading-s",
		setting: topology.SettingTransfer, check: checkOffload, kind: gibibytes,
	},
	flagOffloadingBackend: {
		name: "--kv-offloading-backend", unique: "--kv-offloading-b",
		setting: topology.SettingTransfer, check: checkOffload, kind: backend,
	},
	flagConfig: {name: "--config", unique: "--config"},
}

// diffusionAlias is another flag of vLLM's, though it begins as -dcp does.
const diffusionAlias = "-dc"

// findFlag gives the flag that a name means, and whether it is the negative form.
func findFlag(name string) (id flagID, negated bool) {
	for id := range flags {
		if f := &flags[id]; name == f.name || name == f.alias {
			return flagID(id), false
		}
	}
	found := flagUnknown
	for id := range flags {
		f := &flags[id]
		switch {
		case isPrefix(name, f.unique, f.name) || isPrefix(name, f.unalias, f.alias):
			return flagID(id), false
		case f.negative && isPrefix(name, "--no-"+f.unique[2:], "--no-"+f.name[2:]):
			return flagID(id), true
		case name == diffusionAlias:
		case len(name) > 2 && strings.HasPrefix(f.name, name) || len(name) > 1 && strings.HasPrefix(f.alias, name):
			found = flagAmbiguous
		}
	}
	return found, false
}

// isPrefix tells whether a name abbreviates full and is no shorter than unique.
func isPrefix(name, unique, full string) bool {
	return unique != "" && strings.HasPrefix(name, unique) && strings.HasPrefix(full, name)
}

// valueless are the flags of vLLM 0.33.0 that take no value and do not say so by their name.
var valueless = strings.Fields(`
	--aggregate-engine-logging --allow-credentials --allow-deprecated-quantization --async-scheduling
	--cohere-is-reasoning-model --cudagraph-metrics --data-parallel-multi-port-external-lb -dpm --dcp-q-replicate
	--enforce-eager -ep --exclude-tools-when-tool-choice-none --fail-on-environ-validation --fully-sharded-loras
	--grpc --help -h --interleave-mm-strings --jit-monitor-verbose --kv-cache-metrics --kv-sharing-fast-prefill
	--language-model-only --log-error-stack --long-prefill-token-threshold-adaptive --mm-device-do-normalize
	--mm-encoder-only --monokernel --numa-bind --ray-workers-use-nsight --return-sampling-mask
	--return-tokens-as-token-ids --scheduler-reserve-full-isl --skip-mm-profiling --skip-tokenizer-init
	--sleep-mode-offload-cudagraph --specialize-active-lora --swa-bounded-replay --tokens-only --trust-remote-code
	--trust-request-chat-template --trust-request-mm-kwargs --use-fp64-gumbel --use-replayssm --use-tqdm-on-load`)

// takesValue tells whether the argument after a flag belongs to it. It matters only for an argument that is not
// known, which may otherwise be any number of further flags: an argument that begins with a dash is never the value
// of the flag before it, and one that does not is no flag.
func takesValue(name string) bool {
	if id, _ := findFlag(name); id >= 0 {
		return flags[id].kind != boolean
	}
	return !slices.Contains(valueless, name) && !strings.HasPrefix(name, "--no-") &&
		!strings.HasPrefix(name, "--enable-") && !strings.HasPrefix(name, "--disable-")
}
