package vllm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// spelled lists, for each flag with a value, the value to try and what then shows in the summary.
var spelled = map[flagID]struct{ value, want string }{
	flagTensor:         {"4", "tp=4"},
	flagPipeline:       {"4", "pp=4"},
	flagPrefillContext: {"4", "pcp=4"},
	flagDecodeContext:  {"4", "dcp=4"},
	flagData:           {"4", "dp=4"},
	flagDataLocal:      {"4", "local=4"},
	flagDataRank:       {"4", "dprank=4"},
	flagDataStartRank:  {"4", "dpstart=4"},
	flagDataBackend:    {"ray", "dpbackend=ray"},
	flagNnodes:         {"4", "nnodes=4"},
	flagNodeRank:       {"4", "rank=4"},
	flagExecutor:       {"ray", "executor=ray"},
	flagTransfer:       {`{"kv_connector":"NixlConnector"}`, "NixlConnector"},
	flagOffloadingSize: {"1", "OffloadingConnector/CPUOffloadingSpec*(1073741824)"},
}

func TestEveryFlagInEverySpelling(t *testing.T) {
	for id, tt := range spelled {
		f := flags[id]
		names := []string{f.name, "--" + strings.ReplaceAll(f.name[2:], "-", "_"), f.unique}
		if f.alias != "" {
			names = append(names, f.alias, f.unalias)
		}
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				assert.Equal(t, tt.want, summary(resolve(t, serve(name, tt.value))), "with a space")
				assert.Equal(t, tt.want, summary(resolve(t, serve(name+"="+tt.value))), "with =")
				assert.Equal(t, tt.want, summary(resolve(t, serve("--port", "1", name, tt.value,
					"--enforce-eager"))), "in between")
			})
		}
	}
}

func TestBooleanFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--headless":                          "headless=true",
		"--hea":                               "headless=true",
		"--data-parallel-hybrid-lb":           "hybrid=true",
		"--data_parallel_hybrid_lb":           "hybrid=true",
		"-dph":                                "hybrid=true",
		"--data-parallel-external-lb":         "external=true",
		"-dpe":                                "external=true",
		"--data-parallel-e":                   "external=true",
		"-dpe --no-data-parallel-external-lb": "",
		"-dph --no-data_parallel_hybrid_lb":   "",
		"-dph --no-data-parallel-h":           "",
		"--no-data-parallel-hybrid-lb -dph":   "hybrid=true",
		"--headless -tp 2":                    "tp=2 headless=true",
		"--headless=true": "\nrefused by parallel.config: --headless true: ignored " +
			"explicit argument: the flag takes no value; write --headless alone",
		"--data-parallel-hybrid-lb=false --headless": "headless=true\nrefused by parallel.config: " +
			"--data-parallel-hybrid-lb false: ignored explicit argument: the flag takes no value; write " +
			"--data-parallel-hybrid-lb alone",
		"--no-headless": "",
		"--data-parallel-multi-port-external-lb -n 2": "nnodes=2",
	} {
		t.Run(args, func(t *testing.T) {
			assert.Equal(t, want, summary(resolve(t, serve(strings.Fields(args)...))))
		})
	}
}

func TestHowArgumentsAreRead(t *testing.T) {
	for args, want := range map[string]string{
		"":                                 "",
		"-tp 2 -tp 4":                      "tp=4",
		"-tp 4 --tensor-parallel-size=2":   "tp=2",
		"-n2 -r1":                          "nnodes=2 rank=1",
		"-n=2":                             "nnodes=2",
		"-tp -1":                           "tp=-1",
		"-tp 0":                            "tp=0",
		"-tp 1_0":                          "tp=10",
		"-tp +4":                           "tp=4",
		"--unknown -tp 2":                  "tp=2",
		"--unknown 5 -tp 2":                "tp=2",
		"--unknown -0.5 -tp=2 -pp 2":       "pp=2",
		"--unknown=-tp -pp 2":              "pp=2",
		"--served-model-name a b -tp 2":    "tp=2",
		"--compilation-config.level 3":     "",
		"--compilation-config.level -tp 2": "",
		"--speculative-config.x=1 -tp 2":   "tp=2",
		"-O3 -tp 2":                        "tp=2",
		"-dc x":                            "",
		"-tp 2 -- x":                       "tp=2",
		"--distributed-executor-backend=my.pkg.Executor": "executor=my.pkg.Executor",
		"--distributed-executor-backend None":            "",
		"--kv-transfer-config None":                      "",
		"--kv-transfer-config=":                          "",
		"--kv-offloading-size None":                      "",
	} {
		t.Run(args, func(t *testing.T) {
			assert.Equal(t, want, summary(resolve(t, serve(strings.Fields(args)...))))
		})
	}
}

func TestWhatVLLMRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"-tp abc": "tp=0\nunresolved engine.parallel.tensor: the value of -tp cannot be read\n" +
			"refused by parallel.config: -tp abc: invalid int value; give a whole number, e.g. -tp 2",
		"--pipeline-parallel-size=2.0": "pp=0\nunresolved engine.parallel.pipeline: the value of " +
			"--pipeline-parallel-size cannot be read\n" +
			"refused by parallel.config: --pipeline-parallel-size 2.0: invalid int value; give a whole number, e.g. " +
			"--pipeline-parallel-size 2",
		"-dp 99999999999999999999": "dp=0\nunresolved engine.parallel.data: the value of -dp cannot be read\n" +
			"refused by parallel.config: -dp 99999999999999999999: invalid int value; give a whole number, e.g. -dp 2",
		"-tp ${TP}": "tp=0\nunresolved engine.parallel.tensor: the value of -tp cannot be read\nrefused by " +
			"parallel.config: -tp ${TP}: " +
			"invalid int value; no shell replaces the variable here: write $(NAME) where Kubernetes starts the " +
			"command, or run it with sh -c",
		"-dpr x": "\nunresolved engine.data_start_rank: the value of -dpr cannot be read\n" +
			"refused by parallel.config: -dpr x: invalid int value; give a whole number, e.g. -dpr 2",
		"-tp2":      "\nrefused by parallel.config: -tp2 : unrecognized arguments: -tp2; write -tp 2",
		"-pcp16":    "\nrefused by parallel.config: -pcp16 : unrecognized arguments: -pcp16; write -pcp 16",
		"-tp":       "\nrefused by parallel.config: -tp : expected one argument; give -tp a value",
		"-tp -pp 2": "pp=2\nrefused by parallel.config: -tp : expected one argument; give -tp a value",
		"--data-parallel-s 2": "\nrefused by parallel.config: --data-parallel-s : ambiguous option: it could match " +
			"several flags; " +
			"write the flag in full",
		"-p 2": "\nrefused by parallel.config: -p : ambiguous option: it could match several flags; write the " +
			"flag in full",
		"-- -tp 2": "\nrefused by parallel.config: -tp : unrecognized arguments: flags after -- are positional; move " +
			"it before --",
		"--distributed-executor-backend foo": "executor=foo\nrefused by parallel.config: " +
			"--distributed-executor-backend foo: " +
			"it is no executor that vLLM knows and no import path of one; choose mp, ray, uni or external_launcher, " +
			"or give the path of an Executor class",
		"-dpb zmq": "\nrefused by parallel.config: -dpb zmq: data_parallel_backend can only be ray or mp; write -dpb " +
			"mp or -dpb ray",
		"--kv-offloading-size 10GB": "\nunresolved engine.kv_transfer: the value of --kv-offloading-size cannot be " +
			"read\n" +
			"refused by offload.config: --kv-offloading-size 10GB: it cannot be converted to a number of GiB; " +
			"give a number of GiB without a unit, e.g. --kv-offloading-size 10",
		"--kv-offloading-size inf": "\nunresolved engine.kv_transfer: the value of --kv-offloading-size cannot be " +
			"read\n" +
			"refused by offload.config: --kv-offloading-size inf: it cannot be converted to a number of GiB; " +
			"give a number of GiB without a unit, e.g. --kv-offloading-size 10",
		"--kv-offloading-size 1 --kv-offloading-backend disk": "\nunresolved engine.kv_transfer: the value of " +
			"--kv-offloading-backend cannot be read\n" +
			"refused by offload.config: --kv-offloading-backend disk: invalid choice; choose native or lmcache",
		"--kv-transfer-config.kv_role": "\nrefused by offload.config: --kv-transfer-config.kv_role : a dotted key " +
			"needs a value; " +
			"give --kv-transfer-config.kv_role a value",
	} {
		t.Run(args, func(t *testing.T) {
			assert.Equal(t, want, summary(resolve(t, serve(strings.Fields(args)...))))
		})
	}
}
